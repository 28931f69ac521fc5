# frozen_string_literal: true

require_relative "../../printable"

module Penstock
  module CLI
    module Replay
      # The answer of `penstock replay` in three lines: what the dump is, what came out, and what that means. A frozen value.
      class Summary
        # @param dump [Dump]
        # @param machines [Array<(Hash, Machine)>] lanes of the dump, and each one's replay
        def initialize(dump, machines)
          @dump = dump
          @machines = machines
          @different = machines.select { |_lane, machine| machine.difference }
          freeze
        end

        # @return [Array<String>]
        def lines = [origin, result, meaning].map { |line| Printable.line(line) }

        private

        def origin
          facts = @dump.facts
          time = @dump.time(facts["monotonic_ms"])
          "Dump of process #{facts["pid"]} (reason: #{facts["reason"]}), written at #{time} UTC by " \
            "Penstock #{facts["penstock"]} on Ruby #{facts["ruby"]}."
        end

        def result
          were = (compared == 1) ? "was" : "were"
          counted = "#{count(compared, "decision")} of #{count(@machines.size, "partition")} #{were} made again"
          return "#{counted}: all as recorded." if @different.empty?
          "#{counted}: DIFFERENT in #{@different.map { |lane, machine| difference(lane, machine) }.join(", ")}."
        end

        def meaning
          if @different.any?
            "This Penstock decides otherwise than the one that wrote the dump: another version, or a defect. Please report a " \
              "defect with this file."
          elsif compared.zero?
            "Nothing could be compared, so this proves nothing about the decisions; the entries are shown below."
          else
            "Penstock decided by its rules: what happened follows from its inputs below, such as an error, a mark or a rebalance."
          end
        end

        def difference(lane, machine) = "#{lane["topic"]}/#{lane["partition"]} at entry #{machine.difference.entry.number}"

        def compared = @machines.sum { |_lane, machine| machine.compared }

        def count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"
      end
    end
  end
end
