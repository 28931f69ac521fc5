# frozen_string_literal: true

# Usage: ruby examples/demo/report.rb FOLDER [--json]
#
# Reads all journals of a run and prints the table. Exit code 0 when everything that must be 0 is 0 and every order was
# produced and processed, otherwise 1. Doesn't use Penstock.

require_relative "findings"

module Demo
  # Checks {Findings} and formats the result, as a table for people or a Hash for programs.
  class Report
    # Reads the journals of one folder.
    #
    # @param folder [String]
    # @return [Report]
    def self.of(folder)
      journals = Dir[File.join(folder, "*.journal")].sort.map { |path| JournalReader.new(path) }
      new(Findings.new(journals))
    end

    # @param findings [Findings]
    def initialize(findings)
      @findings = findings
    end

    # @return [Array<String>] problems as text; empty when the run is right
    def problems
      @problems ||= [
        (shortfall unless complete?),
        *must_be_zero.reject { |_, count| count.zero? }.map { |what, count| "#{count} #{what}" },
        *@findings.failed,
        *@findings.vanished.map { |name| "#{name} wrote no end in its journal, and was not killed" }
      ].compact
    end

    def right?
      problems.empty?
    end

    def to_h
      {
        right: right?, problems: problems, expected: @findings.expected, produced: @findings.produced,
        processed: @findings.processed, runs: @findings.runs, lost: @findings.lost,
        duplicated: @findings.duplicated, duplicated_unexplained: @findings.unexplained,
        out_of_order: @findings.out_of_order, foreign: @findings.foreign, killed: @findings.killed,
        journal_lines: @findings.lines, journal_damaged: @findings.damaged, journal_missing: @findings.missing,
        rate_per_s: @findings.rate.round(1), latency_ms: latency
      }
    end

    def to_s
      width = rows.map { |label, _| label.size }.max
      table = rows.map { |label, value, note| "  #{label.ljust(width)}  #{value.rjust(11)}  #{note}".rstrip }
      [*table, "", *DEFINITIONS, "", verdict].join("\n")
    end

    DEFINITIONS = [
      "  lost: acknowledged by the broker to the producer, and finished by no consumer.",
      "  duplicated: finished again. Allowed only for what a killed process finished in its last commit interval + 1 s, and",
      "    for what the broker refused to take the commit of while the group changed hands.",
      "  out of order: began before every order below it in its partition had been finished once by some process,",
      "    or comes after a higher offset of its partition in one process's journal."
    ].freeze

    private

    def complete?
      @findings.expected.positive? && @findings.produced == @findings.expected
    end

    def shortfall
      "#{@findings.produced} of #{@findings.expected} orders were produced"
    end

    def must_be_zero
      {
        "lost" => @findings.lost, "out of order" => @findings.out_of_order,
        "duplicated, and not explained by a kill" => @findings.unexplained,
        "processed, but not produced at that partition and offset" => @findings.foreign,
        "not delivered, or unknown" => @findings.undelivered,
        "lines of the journals damaged" => @findings.damaged, "lines of the journals missing" => @findings.missing
      }
    end

    def rows
      [
        ["produced", number(@findings.produced), "acknowledged, of #{number(@findings.expected)}"],
        ["processed", number(@findings.processed), "different orders, #{number(@findings.runs)} runs"],
        ["lost", number(@findings.lost), "must be 0"],
        ["duplicated", number(@findings.duplicated), duplicates_note],
        ["out of order", number(@findings.out_of_order), "within a partition, must be 0"],
        ["rate", number(@findings.rate.round), "orders/s, from the first start to the last end"],
        *latency_rows,
        ["journals", number(@findings.lines), journals_note]
      ]
    end

    def latency_rows
      calm = ["p99", milliseconds(latency[:calm_p99]), "from produce to processed (p50 #{milliseconds(latency[:calm_p50])})"]
      return [calm] if @findings.killed.empty?

      calm[2] = "#{calm[2]}, until the kill"
      [calm, ["p99 in all", milliseconds(latency[:p99]), "including the wait until the killed process's session expired"]]
    end

    def duplicates_note
      killed = @findings.killed.empty? ? "no process was killed" : "killed: #{@findings.killed.join(", ")}"
      refused = ", #{number(@findings.refused)} by a refused commit" if @findings.refused.positive?
      "#{number(@findings.unexplained)} unexplained, must be 0 (#{killed}#{refused})"
    end

    def journals_note
      "lines, #{number(@findings.damaged)} damaged, #{number(@findings.missing)} missing"
    end

    def latency
      @latency ||= {
        p50: percentile(@findings.latencies_ms, 50), p99: percentile(@findings.latencies_ms, 99),
        calm_p50: percentile(@findings.calm_latencies_ms, 50), calm_p99: percentile(@findings.calm_latencies_ms, 99)
      }
    end

    def percentile(sorted, percent)
      return if sorted.empty?

      sorted[((sorted.size * percent) / 100.0).ceil - 1].round(1)
    end

    def milliseconds(value)
      value ? "#{value} ms" : "-"
    end

    def number(value)
      value.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
    end

    def verdict
      right? ? "  Everything is correct." : "  WRONG: #{problems.join("; ")}."
    end
  end
end

if $PROGRAM_NAME == __FILE__
  folder = ARGV.find { |word| !word.start_with?("--") } || abort("Usage: #{$PROGRAM_NAME} FOLDER [--json]")
  report = Demo::Report.of(folder)
  if ARGV.include?("--json")
    require "json"
    puts JSON.pretty_generate(report.to_h)
  else
    puts report
  end
  exit(report.right? ? 0 : 1)
end
