# frozen_string_literal: true

require "json"

module Penstock
  module TestSupport
    module Runner
      # Adds up the results of a run's processes, and prints the closing lines.
      class Tally
        SLOWEST = 15
        NEEDS_KAFKA = "need a real Kafka: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS"

        def initialize
          @passed = 0
          @failed = []
          @skipped = Hash.new(0)
          @lines = []
          @slowest = []
        end

        # @param child [Child::Result] how the process ended
        # @param path [String] the result file that the process should have written
        def add(name, child, path)
          unless File.exist?(path)
            note(name, child.seconds)
            @failed << "#{name}: #{child} before it reported"
            return
          end
          counts = JSON.parse(File.read(path))
          note(name, child.seconds, counts["cpu_seconds"])
          @slowest.concat(counts.fetch("slowest", []))
          @passed += counts["passed"]
          @failed.concat(counts["failed"])
          counts["skipped"].each { |reason, count| @skipped[reason] += count }
          # All tests passed, yet the process ended badly: a crash at exit counts as a failure.
          @failed << "#{name}: #{child}" if counts["failed"].empty? && !child.success?
        end

        def fail(text)
          @failed << text
        end

        def skip(count, reason)
          @skipped[reason] += count if count.positive?
        end

        def success?
          @failed.empty?
        end

        def report(out)
          out.puts("", *@lines)
          out.puts("", "Slowest:", *@slowest.max(SLOWEST).map { |seconds, test| format("%7.1f s  %s", seconds, test) })
          out.puts("", "Failed:", *@failed.map { |text| "  #{text}" }) unless @failed.empty?
          out.puts("", "Skipped:", *@skipped.map { |reason, count| "  #{count}: #{reason}" }) unless @skipped.empty?
          out.puts("", closing_line)
          out.flush
        end

        def closing_line
          line = "#{@passed} passed, #{@failed.size} failed, #{@skipped.values.sum} skipped"
          kafka = @skipped.sum { |reason, count| reason.include?("KAFKA_HOME") ? count : 0 }
          kafka.zero? ? line : "#{line} (#{kafka} #{NEEDS_KAFKA})"
        end

        private

        def note(name, seconds, work = nil)
          @lines << format("%-40s %6.1f s%s", name, seconds, work && format(", %5.1f s of them work", work))
        end
      end
    end
  end
end
