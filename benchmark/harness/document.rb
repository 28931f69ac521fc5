# frozen_string_literal: true

require "json"
require_relative "statistics"

module Bench
  # Puts the figures of a JSON that bin/bench wrote into docs/performance.md, between its two marks, so that no number
  # there is typed by hand.
  class Document
    OPENING = "<!-- figures begin, written by bin/bench -->"
    CLOSING = "<!-- figures end -->"
    VERDICTS = {"holds" => "holds", "misses" => "**misses**", "seen" => "", "absent" => "not run"}.freeze

    # @param json [String] file
    # @param compiled [String, nil] file of a run with Ruby's compiler: its figures come beside
    def initialize(json, compiled = nil)
      @result = JSON.parse(File.read(json))
      @compiled = compiled ? figures_of(JSON.parse(File.read(compiled))) : {}
    end

    def write(page)
      text = File.read(page)
      before, rest = text.split(OPENING, 2)
      after = rest.to_s.split(CLOSING, 2)[1] or raise "#{page} has no place for figures: #{OPENING} … #{CLOSING}"
      File.write(page, [before, OPENING, "\n\n", body, "\n", CLOSING, after].join)
    end

    private

    def body
      pages = @result["workloads"].flat_map { |workload| sides(workload) }
      head = ["figure", "measured", "target", "verdict", *("with YJIT" if @compiled.any?)]
      [versions, "", *table(head, promises), "", *pages].join("\n") + "\n"
    end

    def versions
      machine = @result["machine"]
      peers = @result["peers"].map { |name, version| "#{name} #{version}" }.join(", ")
      "#{machine["cpus"]} × #{machine["cpu"]}, #{machine["memory_mb"] / 1024} GB, #{machine["system"]}, with the " \
        "broker on the same machine; #{@result["ruby"].split(" [").first}; Penstock #{@result["penstock"]}; " \
        "#{@result["broker"]}; #{peers}. Medians of #{runs} fresh processes a side, lowest and highest in brackets."
    end

    # As often as the sides were really run.
    def runs
      @result["workloads"].flat_map { |workload| workload["sides"].map { |side| side["runs"].size } }
        .reject(&:zero?).minmax.uniq.join("–")
    end

    def promises
      figures_of(@result).map do |name, figure|
        [name, shown(figure), figure["target"], VERDICTS.fetch(figure["verdict"]), *compiled(name)]
      end
    end

    def figures_of(result)
      result["workloads"].flat_map do |workload|
        workload["figures"].map { |figure| ["#{workload["name"]} #{figure["name"]}", figure] }
      end.to_h
    end

    def compiled(name)
      return [] if @compiled.empty?

      figure = @compiled[name]
      [figure&.fetch("value") ? [shown(figure), VERDICTS.fetch(figure["verdict"])].reject(&:empty?).join(" ") : ""]
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
