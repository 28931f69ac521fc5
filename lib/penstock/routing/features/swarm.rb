# frozen_string_literal: true

require_relative "../feature"
require_relative "../option_values"
require_relative "assign"

module Penstock
  module Routing
    # The nodes of a swarm that consume a topic: numbers, a range of them, or a Hash with the partitions of each node.
    SwarmNodes = Struct.new(:nodes, :split) do
      include FrozenStruct

      # @param index [Integer, nil] nil for a process that isn't a node, which consumes everything
      def take?(index) = index.nil? || nodes.include?(index)

      # @param index [Integer, nil] number of a node
      # @return [Array<Integer>, nil] the node's partitions of a topic that is split; nil: all that the topic assigns
      def partitions(index) = index && split&.fetch(index)
    end

    module Features
      # `swarm nodes: 0..1`, `swarm nodes: {0 => [0, 1], 1 => 2..3}`
      module Swarm
        # The type of `nodes`: a number, numbers, a range of numbers that may be endless, a Hash of nodes and
        # partitions.
        class Nodes
          def coerce(value)
            return range(value) if value.is_a?(Range)
            return split(value) if value.is_a?(Hash)
            numbers = Array(value)
            (numbers.any? && numbers.all? { |one| number?(one) }) ? numbers.uniq.sort.freeze : Config::Types::INVALID
          end

          def to_s = "a node's number, an Array or a Range of them (the first is 0), or a Hash of nodes and their partitions"

          private

          def split(value)
            read = value.transform_values { |partitions| Assign::Partitions.new.coerce([partitions]) }
            good = read.any? && read.all? { |node, partitions| number?(node) && partitions.is_a?(Array) }
            good ? read.freeze : Config::Types::INVALID
          end

          def range(value)
            ends = [value.begin, value.end].compact
            (ends.any? && ends.all? { |one| number?(one) } && value.include?(value.begin || 0)) ? value : Config::Types::INVALID
          end

          def number?(value) = value.is_a?(Integer) && !value.negative?
        end

        CHECK = lambda do |topic, swarm, settings|
          count = settings.swarm.nodes
          next [] if swarm.nil?
          next Split.new(topic, swarm.split, count).problems if swarm.split
          next [] if (0...count).any? { |index| swarm.take?(index) }
          [["is for nodes #{swarm.nodes} of the swarm, and there are #{count}, 0 to #{count - 1}",
            "Raise config.swarm.nodes, or name one of these"]]
        end

        UNASSIGNED = ["swarm nodes: gives nodes partitions, which needs assign with their numbers: a group assigns " \
          "partitions itself",
          "Write `assign` with all of them, as in `assign 0..5`, or name nodes only"].freeze
        private_constant :UNASSIGNED

        # Finds mistakes in the partitions of nodes: each assigned partition must have exactly one node.
        Split = Struct.new(:topic, :of_nodes, :count) do
          # @return [Array<(String, String)>]
          def problems
            return [UNASSIGNED] unless topic.assigned.is_a?(Array)

            given = of_nodes.values.flatten
            [problem("belong to no node", topic.assigned - given, "Give each to a node"),
              problem("aren't assigned", given.uniq - topic.assigned, "Remove them, or name them in `assign`"),
              problem("belong to more than one node", given.tally.select { |_number, times| times > 1 }.keys,
                "Give each to one node"),
              strangers].compact
          end

          private

          def problem(what, numbers, hint)
            ["swarm nodes: partitions #{numbers.join(", ")} #{what}", hint] if numbers.any?
          end

          def strangers
            nodes = of_nodes.keys.reject { |index| index < count }
            return if nodes.empty?
            ["swarm nodes: gives partitions to #{nodes.join(", ")}, and the nodes are 0 to #{count - 1}",
              "Raise config.swarm.nodes, or give them to one of these"]
          end
        end

        # @return [Feature]
        def self.feature
          Feature.new(:swarm, options: {nodes: Feature::Option.new(Nodes.new, Feature::REQUIRED)}, check: CHECK,
            value: ->(nodes:) { nodes.is_a?(Hash) ? SwarmNodes.new(nodes.keys.freeze, nodes) : SwarmNodes.new(nodes) },
            description: "Nodes of a swarm that consume it, by default all. With `assign` each may have " \
              "partitions of its own. A process that isn't a node always consumes all.")
        end
      end
    end
  end
end
