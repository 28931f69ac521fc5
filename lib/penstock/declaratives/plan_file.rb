# frozen_string_literal: true

require "json"
require_relative "../errors"
require_relative "plan"

module Penstock
  module Declaratives
    # A plan in a file, to be reviewed and applied later. It contains what it was computed from, and isn't applied if the
    # cluster has changed since. Immutable.
    class PlanFile
      # The file can't be applied. The message explains why.
      class Refused < StandardError
        include Penstock::Error
      end

      FORMAT = 1

      # @return [Plan]
      attr_reader :plan
      # @return [String] the cluster it was made for
      attr_reader :cluster_id
      # @return [Array<String>] the topics that it depends on
      def names = @basis.keys

      # @param plan [Plan]
      # @param declared [Array<Topic>] from which it was computed
      # @param state [ClusterState] the same
      # @return [PlanFile]
      def self.of(plan, declared, state)
        new(plan, state.cluster_id, basis(state, declared.to_h { |topic| [topic.name, topic.config.keys] }))
      end

      # @param text [String]
      # @return [PlanFile]
      # @raise [Refused] it isn't a plan, or one of another version
      def self.parse(text)
        hash = JSON.parse(text)
        raise Refused, "it isn't a plan of penstock topics plan" unless hash.is_a?(Hash) && hash.key?("penstock_topics_plan")

        format = hash["penstock_topics_plan"]
        raise Refused, "it has format #{format}, this version reads format #{FORMAT}: make it again" unless format == FORMAT

        steps = Array(hash.fetch("steps")).map { |step| Steps.load(step) }
        new(Plan.new(steps), hash.fetch("cluster_id"), basis_of(hash.fetch("basis"), steps))
      rescue JSON::ParserError, KeyError, ArgumentError, TypeError, NoMethodError => error
        raise Refused, "it can't be read: #{error.message.lines.first.to_s.strip[0, 200]}"
      end

      # A step about a topic that isn't in the basis would be carried out unchecked.
      # @return [Hash]
      # @raise [ArgumentError]
      def self.basis_of(basis, steps)
        sound = basis.is_a?(Hash) && basis.values.compact.all? { |topic| topic.is_a?(Hash) && topic["config"].is_a?(Hash) }
        raise ArgumentError, "its basis isn't what this version writes" unless sound

        unchecked = steps.map(&:name) - basis.keys
        raise ArgumentError, "it changes #{unchecked.join(", ")}, which its basis doesn't describe" if unchecked.any?

        steps.each { |step| refuse(step) unless follows?(step, basis[step.name]) }
        basis
      end
      private_class_method :basis_of

      # A step that doesn't begin with what its basis describes was changed by hand, and would do something that nobody has seen.
      # @param topic [Hash, nil] of the basis
      # @return [Boolean]
      def self.follows?(step, topic)
        case step.kind
        when :create then topic.nil? && [step.partitions, step.replication_factor].all?(&:positive?)
        when :repartition then topic && step.from == topic["partitions"] && step.to > step.from
        else topic && step.changes.any? && step.changes.all? { |property, change| change?(change, topic["config"][property]) }
        end
      end
      private_class_method :follows?

      def self.change?(change, present)
        change.is_a?(Array) && change.size == 2 && change[0] == present && change[1].is_a?(String)
      end
      private_class_method :change?

      def self.refuse(step)
        raise ArgumentError, "its step to #{step.kind} #{step.name} doesn't fit its basis: make it again with penstock topics " \
          "plan"
      end
      private_class_method :refuse

      # @return [Hash] by topic: nil if it is missing, else partitions, replicas and the values of the properties
      def self.basis(state, properties)
        properties.to_h do |name, names|
          topic = state.topics[name]
          [name, topic && {"partitions" => topic.partitions, "replication_factor" => topic.replication_factor,
                           "config" => names.to_h { |property| value(topic, property) }}]
        end
      end
      private_class_method :basis

      # @return [(String, String)] by the property's own name, as in the steps
      def self.value(topic, property)
        own, setting = topic.setting(property)
        [own || property, setting&.value]
      end
      private_class_method :value

      def initialize(plan, cluster_id, basis)
        @plan = plan
        @cluster_id = cluster_id
        @basis = basis
        freeze
      end

      # @param state [ClusterState] of now, with the topics of {#names}
      # @return [void]
      # @raise [Refused] the cluster is another one, or isn't any more as it was when the plan was made
      def verify!(state)
        raise Refused, "it was made for cluster #{cluster_id}, this is #{state.cluster_id}" unless cluster_id == state.cluster_id

        properties = @basis.transform_values { |topic| topic ? topic.fetch("config").keys : [] }
        now = self.class.send(:basis, state, properties)
        changed = names.reject { |name| now[name] == @basis[name] }
        return if changed.empty?

        raise Refused, "the cluster has changed since it was made (#{changed.first(5).join(", ")}" \
                       "#{" and #{changed.size - 5} more" if changed.size > 5}): make it again with penstock topics plan"
      end

      # @return [String]
      def to_json(*)
        JSON.pretty_generate("penstock_topics_plan" => FORMAT, "cluster_id" => cluster_id,
          "steps" => plan.steps.map { |step| Steps.dump(step) }, "basis" => @basis)
      end
    end
  end
end
