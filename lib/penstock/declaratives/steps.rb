# frozen_string_literal: true

module Penstock
  module Declaratives
    # The changes of a {Plan}. Immutable values with `kind`, `name` of the topic, `to_s` and `warnings`: consequences that a
    # person should know before the change is made.
    module Steps
      # Creates a topic.
      Create = Struct.new(:name, :partitions, :replication_factor, :config, :warnings, keyword_init: true) do
        def kind = :create

        def to_s
          details = config.map { |property, value| "#{property}=#{value}" }
          ["create #{name} with #{Steps.count(partitions, "partition")}, replication factor #{replication_factor}",
            *details].join(", ")
        end
      end

      # Adds partitions to a topic.
      Repartition = Struct.new(:name, :from, :to, :warnings, keyword_init: true) do
        def kind = :repartition
        def to_s = "add partitions to #{name}: #{from} → #{to}"
      end

      # Changes properties of a topic. `changes` has the present and the declared value by property.
      Align = Struct.new(:name, :changes, :warnings, keyword_init: true) do
        def kind = :align
        def to_s = "set #{name}: #{changes.map { |property, (from, to)| "#{property} #{from || "(unset)"} → #{to}" }.join(", ")}"
      end

      KINDS = {create: Create, repartition: Repartition, align: Align}.freeze
      # Of their members, as JSON has them.
      TYPES = {name: String, partitions: Integer, replication_factor: Integer, config: Hash, from: Integer, to: Integer,
               changes: Hash, warnings: Array}.freeze
      private_constant :TYPES

      # @return [String] "1 partition", "6 partitions"
      def self.count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"

      # @param step [Create, Repartition, Align]
      # @return [Hash{String => Object}] for JSON
      def self.dump(step) = {"kind" => step.kind.to_s, **step.to_h.transform_keys(&:to_s)}

      # @param hash [Hash{String => Object}] from {dump}
      # @return [Create, Repartition, Align]
      # @raise [ArgumentError, KeyError, TypeError] it isn't one
      def self.load(hash)
        kind = KINDS.fetch(hash.fetch("kind").to_s.to_sym) { raise ArgumentError, "there is no step #{hash["kind"].inspect}" }
        step = kind.new(**hash.except("kind").transform_keys(&:to_sym)).freeze
        wrong = step.each_pair.find { |member, value| !TYPES.fetch(member).===(value) }
        raise ArgumentError, "a step to #{step.kind} has #{wrong.last.inspect} for #{wrong.first}" if wrong

        step
      end
    end
  end
end
