# frozen_string_literal: true

require "json"
require_relative "statistics"

module Bench
  # Copies the figures from a JSON file of bin/bench into docs/performance.md, between two marks, so that no number
  # there is typed by hand. Workloads on three brokers have marks of their own.
  class Document
    MARKS = {one: ["<!-- figures begin, written by bin/bench -->", "<!-- figures end -->"],
             several: ["<!-- figures of three brokers begin, written by bin/bench -->",
               "<!-- figures of three brokers end -->"]}.freeze
    VERDICTS = {"holds" => "holds", "misses" => "**misses**", "seen" => "", "absent" => "not run"}.freeze

    # @param json [String] file
    # @param others [Array<String>] files of runs with another Ruby or with its compiler: their figures get a column each
    def initialize(json, others = [])
      @result = JSON.parse(File.read(json))
      @columns = several_brokers? ? {} : others.map { |file| JSON.parse(File.read(file)) }.to_h { |run| [title(run), run] }
    end

    def write(page)
      text = File.read(page)
      opening, closing = MARKS.fetch(several_brokers? ? :several : :one)
      before, rest = text.split(opening, 2)
      after = rest.to_s.split(closing, 2)[1] or raise "#{page} has no place for figures: #{opening} … #{closing}"
      File.write(page, [before, opening, "\n\n", body, "\n", closing, after].join)
    end

    private

    def several_brokers?
      names = Workload.all.select { |workload| workload::BROKERS > 1 }.map { |workload| workload::NAME }
      @result["workloads"].all? { |workload| names.include?(workload["name"]) }
    end

    def body
      pages = @result["workloads"].flat_map { |workload| sides(workload) }
      head = ["figure", "measured", "target", "verdict", *@columns.keys]
      about = @columns.flat_map { |name, run| ["", "**#{name}**: #{versions(run)}"] }
      [versions(@result), *about, "", *table(head, promises), "", *pages].join("\n") + "\n"
    end

    def title(run) = ["Ruby #{run["ruby"][/\d+\.\d+\.\d+/]}", *("YJIT" if run["switches"])].join(", ")

    def versions(run)
      machine = run["machine"]
      peers = run["peers"].map { |name, version| "#{name} #{version}" }
      facts = ["#{machine["cpus"]} × #{machine["cpu"]}, #{machine["memory_mb"] / 1024} GB, #{machine["system"]}, with the " \
        "broker on the same machine", run["ruby"].split(" [").first, "Penstock #{run["penstock"]}", run["broker"],
        *(peers.join(", ") if peers.any?)].join("; ")
      "#{facts}. Medians of #{runs(run)} fresh processes a side, lowest and highest in brackets."
    end

    # The number of runs that the sides really had.
    def runs(run)
      run["workloads"].flat_map { |workload| workload["sides"].map { |side| side["runs"].size } }
        .reject(&:zero?).minmax.uniq.join("–")
    end

    def promises
      others = @columns.values.map { |run| figures_of(run) }
      figures_of(@result).map do |name, figure|
        [name, shown(figure), figure["target"], VERDICTS.fetch(figure["verdict"]), *others.map { |figures| cell(figures[name]) }]
      end
    end

    def figures_of(result)
      result["workloads"].flat_map do |workload|
        workload["figures"].map { |figure| ["#{workload["name"]} #{figure["name"]}", figure] }
      end.to_h
    end

    # A figure of a run that isn't the page's own; empty where that run has none.
    def cell(figure)
      return "" unless figure&.fetch("value")

      [shown(figure), VERDICTS.fetch(figure["verdict"])].reject(&:empty?).join(" ")
    end

    def shown(figure)
      return "–" unless figure["value"]

      value, low, high = figure.values_at("value", "low", "high").map { |number| Statistics.humane(number) }
      unit = (figure["unit"] == "×") ? "×" : " #{figure["unit"]}".rstrip
      "#{value}#{unit} (#{low}–#{high})"
    end

    def sides(workload)
      columns = workload["columns"]
      rows = workload["sides"].map do |side|
        [side["name"], *columns.map { |column|
          Statistics.humane(Statistics.median(side["runs"].map { |run|
            run[column]
          }))
        }]
      end
      ["### #{workload["name"]}: #{workload["title"]}", "", *table(["side", *columns], rows), ""]
    end

    def table(head, rows)
      [head, head.map { "---" }, *rows].map { |cells| "| #{cells.join(" | ")} |" }
    end
  end
end
