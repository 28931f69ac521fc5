# frozen_string_literal: true

require_relative "../replay/dump"
require_relative "../replay/script"
require_relative "../replay/words"

module Penstock
  module CLI
    module Why
      # Finds what a dump of the flight recorder contains about one record, as lines. Stateless.
      module Recorded
        class << self
          # @param path [String]
          # @return [Array<String>] empty if the dump doesn't have the partition
          # @raise [Usage] the file isn't a dump
          def lines(path, topic, partition, offset)
            dump = Replay::Dump.read(path)
            lane = dump.lanes.find { |one| one.values_at("topic", "partition") == [topic, partition] }
            return ["The dump doesn't have #{topic}/#{partition}."] unless lane
            script = Replay::Script.new(lane.fetch("entries"))
            found = script.entries.select { |entry| concerns?(script, entry, offset) }
            return ["The dump has nothing about offset #{offset}."] if found.empty?
            ["In the dump:", *found.map { |entry| "  #{dump.time(entry.at)} #{Replay::Words.call(entry).strip}" }]
          end

          private

          # A take or a unit that had it, an outcome that blames it or ended its unit (and how far the unit had come),
          # an effect that names it.
          def concerns?(script, entry, offset)
            case entry.kind
            when :take then entry[3] && offset.between?(entry[3], entry[4])
            when :unit then within?(script.unit(entry), offset)
            when :outcome then entry[3] == offset || ended?(script, entry, offset)
            when :reached then ended?(script, outcome_behind(script, entry), offset)
            when :effect then named?(entry.values.drop(1).grep(Integer).first(2), offset)
            when :letter then entry[0] == offset
            end
          end

          # One offset, or the first and the last.
          def named?(offsets, offset) = !offsets.empty? && offset.between?(*offsets.minmax)

          def within?(unit, offset)
            unit.offsets ? unit.offsets.include?(offset) : offset.between?(unit.first, unit.last)
          end

          # @return [Entry, nil] nil where the dump ends between the two
          def outcome_behind(script, entry) = script.entries.drop(entry.number).find { |one| one.kind == :outcome }

          def ended?(script, outcome, offset)
            return false unless outcome
            unit = script.entries.take(outcome.number).reverse.find { |one|
              one.kind == :unit && one.values.first(2) == outcome.values.first(2)
            }
            !unit.nil? && within?(script.unit(unit), offset)
          end
        end
      end
    end
  end
end
