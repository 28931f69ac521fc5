# frozen_string_literal: true

require_relative "../../config/types"
require_relative "../feature"

module Penstock
  module Routing
    module Features
      # `assign`: the route lists the topic's partitions, the group doesn't assign them.
      module Assign
        ALL = :all
        INSTANCE_ID = :"group.instance.id"

        # The type of the arguments: true, numbers, ranges of numbers.
        class Partitions
          # More is a mistake: no topic has a million partitions.
          MOST = 1_000_000
          private_constant :MOST

          # @param written [Array] the arguments as they were written
          # @return [Symbol, Array<Integer>, false] :all, numbers in ascending order, or false for anything else
          def coerce(written)
            return (written == [false]) ? false : ALL if [[true], [false], [ALL]].include?(written)

            numbers = written.flatten.map { |entry| numbers(entry) }
            return Config::Types::INVALID if numbers.empty? || numbers.any? { |some| some.nil? || some.empty? }

            numbers.flatten.uniq.sort.freeze
          end

          def to_s
            "true for all partitions, or numbers and ranges of numbers"
          end

          private

          def numbers(entry)
            case entry
            when Integer then entry.negative? ? nil : [entry]
            when Range then of_range(entry)
            end
          end

          def of_range(range)
            first, last = range.begin, range.end
            return unless first.is_a?(Integer) && last.is_a?(Integer) && !first.negative? && last - first < MOST

            range.to_a
          end
        end

        CHECK = lambda do |topic, partitions, settings|
          next [] unless partitions

          found = []
          found << PATTERN if topic.pattern?
          own = topic.kafka[INSTANCE_ID]
          found << STATIC if own && own != settings.kafka[INSTANCE_ID]
          found
        end

        PATTERN = ["assign can't be used with a pattern: the matching topics are known only in a joined group",
          "Write a route for each topic"].freeze
        STATIC = ["assign joins no group, so there is no member that group.instance.id could name",
          "Remove group.instance.id"].freeze
        private_constant :PATTERN, :STATIC

        # @return [Feature]
        def self.feature
          Feature.new(:assign, positional: :partitions, splat: true, check: CHECK,
            options: {partitions: Feature::Option.new(Partitions.new, Feature::REQUIRED)},
            value: ->(partitions:) { partitions || nil },
            description: "Reads these partitions without joining the group; offsets are still committed to it.")
        end
      end
    end
  end
end
