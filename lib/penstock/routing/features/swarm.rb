# frozen_string_literal: true

require_relative "../feature"
require_relative "../option_values"

module Penstock
  module Routing
    # The nodes of a swarm that consume a topic: numbers, or a range of them.
    SwarmNodes = Struct.new(:nodes) do
      include FrozenStruct

      # @param index [Integer, nil] nil for a process that is no node, which consumes everything
      def take?(index) = index.nil? || nodes.include?(index)
    end

    module Features
      # `swarm nodes: 0..1`
      module Swarm
        # What was written: a number, numbers, a range of numbers that may be open above.
        class Nodes
          def coerce(value)
            return range(value) if value.is_a?(Range)
            numbers = Array(value)
            (numbers.any? && numbers.all? { |one| number?(one) }) ? numbers.uniq.sort.freeze : Config::Types::INVALID
          end

          def to_s = "a node's number, an Array or a Range of them (the first is 0)"

          private

          def range(value)
            ends = [value.begin, value.end].compact
            (ends.any? && ends.all? { |one| number?(one) } && value.include?(value.begin || 0)) ? value : Config::Types::INVALID
          end

          def number?(value) = value.is_a?(Integer) && !value.negative?
        end

        CHECK = lambda do |_topic, swarm, settings|
          count = settings.swarm.nodes
          next [] if swarm.nil? || (0...count).any? { |index| swarm.take?(index) }
          [["is for nodes #{swarm.nodes} of the swarm, and there are #{count}, 0 to #{count - 1}",
            "Raise config.swarm.nodes, or name one of these"]]
        end

        # @return [Feature]
        def self.feature
          Feature.new(:swarm, options: {nodes: Feature::Option.new(Nodes.new, Feature::REQUIRED)}, check: CHECK,
            value: ->(nodes:) { SwarmNodes.new(nodes) },
            description: "Nodes of a swarm that consume it: all where nothing is said. A process that is no node always does.")
        end
      end
    end
  end
end
