# frozen_string_literal: true

require "json"
require_relative "statistics"

module Bench
  # Prints the results: one table of figures against targets, below it each side's own numbers.
  class Report
    VERDICTS = {holds: "holds", misses: "MISSES", seen: "", absent: "not run"}.freeze

    def initialize(outcomes, facts)
      @outcomes = outcomes
      @facts = facts
    end

    def print(out = $stdout)
      @outcomes.each { |outcome| print_sides(outcome, out) }
      rows = [["figure", "measured", "target", "verdict"], *figures.map { |figure| row(figure) }]
      out.puts "", *align(rows)
    end

    def to_h
      {format: 1, **@facts, workloads: @outcomes.map { |outcome| workload(outcome) }}
    end

    def write(path)
      File.write(path, "#{JSON.pretty_generate(to_h)}\n")
    end

    # @return [Array<Figure>] those that miss their target
    def missed
      figures.select { |figure| figure.verdict == :misses }
    end

    private

    def figures = @outcomes.flat_map(&:figures)

    def row(figure)
      ["#{figure.workload} #{figure.name}", figure.shown, figure.target, VERDICTS.fetch(figure.verdict)]
    end

    def print_sides(outcome, out)
      out.puts "", "#{outcome.workload.name}  #{outcome.workload.title}"
      rows = outcome.results.map { |side, runs|
        [side.name, *outcome.workload.columns.map { |column|
          cell(runs, column)
        }]
      }
      out.puts(*align([["side", *outcome.workload.columns], *rows]).map { |line| "  #{line}" })
    end

    def cell(runs, column)
      values = runs.map { |run| run[column] }
      return "failed" if values.compact.empty? && runs.all? { |run| run["error"] }

      Statistics.humane(Statistics.median(values))
    end

    def workload(outcome)
      {
        name: outcome.workload.name, title: outcome.workload.title, columns: outcome.workload.columns,
        sides: outcome.results.map { |side, runs|
          {name: side.name, kind: side.kind, settings: side.settings, runs: runs}
        },
        figures: outcome.figures.map(&:to_json_hash)
      }
    end

    def align(rows)
      widths = rows.transpose.map { |cells| cells.map(&:length).max }
      rows.map { |cells| cells.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }
    end
  end
end
