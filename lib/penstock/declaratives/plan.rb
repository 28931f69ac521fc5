# frozen_string_literal: true

require_relative "consequences"
require_relative "steps"
require_relative "values"

module Penstock
  module Declaratives
    # The changes by which a cluster gets the declared topics. Pure and immutable: computed from the declarations and
    # a {ClusterState}.
    #
    # Nothing in a plan deletes a topic, removes partitions or changes the number of replicas; where a declaration would need
    # that, the plan has a note.
    class Plan
      # Something that stays as it is although it differs from the declaration.
      Note = Struct.new(:name, :text) do
        def to_s = "#{name}: #{text}"
      end

      # @return [Array<Steps::Create, Steps::Repartition, Steps::Align>] by topic
      attr_reader :steps
      # @return [Array<Note>]
      attr_reader :notes

      # @param declared [Array<Topic>]
      # @param state [ClusterState]
      # @return [Plan]
      def self.of(declared, state)
        found = declared.map { |topic| Comparison.new(topic, state).call }
        new(found.flat_map(&:first), found.flat_map(&:last))
      end

      # @param steps [Array<Steps::Create, Steps::Repartition, Steps::Align>]
      # @param notes [Array<Note>]
      def initialize(steps, notes = [])
        @steps = steps.freeze
        @notes = notes.freeze
        freeze
      end

      # @return [Boolean]
      def changes? = steps.any?

      # @param kinds [Array<Symbol>] `:create`, `:repartition`, `:align`
      # @return [Plan] with these steps only
      def only(*kinds) = Plan.new(steps.select { |step| kinds.include?(step.kind) }, notes)

      # @return [Array<String>] consequences of all steps, with the topic's name
      def warnings = steps.flat_map { |step| step.warnings.map { |text| "#{step.name}: #{text}" } }

      # Compares one topic with the cluster.
      class Comparison
        # @param topic [Topic]
        # @param state [ClusterState]
        def initialize(topic, state)
          @topic = topic
          @state = state
          @found = state.topics[topic.name]
          @notes = []
        end

        # @return [(Array, Array<Note>)] steps and notes
        def call
          steps = @found ? [repartition, align].compact : [create]
          [steps.each(&:freeze), @notes]
        end

        private

        def create
          Steps::Create.new(name: @topic.name, partitions: @topic.partitions, replication_factor: @topic.replication_factor,
            config: @topic.config, warnings: Consequences.of_creation(@topic, @state.brokers))
        end

        def repartition
          replicas
          declared, present = @topic.partitions, @found.partitions
          return if declared == present
          return note("has #{present} partitions, declared are #{declared}: Kafka can't remove partitions") if declared < present

          Steps::Repartition.new(name: @topic.name, from: present, to: declared,
            warnings: Consequences.of_partitions(present, declared))
        end

        def replicas
          return if @topic.replication_factor == @found.replication_factor

          note("has replication factor #{@found.replication_factor}, declared is #{@topic.replication_factor}: " \
               "a topic's replicas are moved by kafka-reassign-partitions.sh; Admin.plan_topic_replication makes its plan")
        end

        def align
          changes = @topic.config.filter_map { |name, declared| change(name, declared) }.to_h
          return if changes.empty?

          Steps::Align.new(name: @topic.name, changes: changes, warnings: Consequences.of_changes(changes))
        end

        # @return [(String, Array), nil] the property's own name, its present and its declared value
        def change(name, declared)
          property, setting = @found.setting(name)
          return note("#{name} is declared, but the brokers have no such property") unless setting
          return note("#{name} is a secret value, which can't be compared") if setting.sensitive

          [property, [setting.value, declared]] unless Values.same?(property, setting.value, declared)
        end

        def note(text)
          @notes << Note.new(@topic.name, text).freeze
          nil
        end
      end
      private_constant :Comparison
    end
  end
end
