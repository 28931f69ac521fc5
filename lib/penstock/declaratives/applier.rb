# frozen_string_literal: true

require_relative "../native/kafka_error"
require_relative "../errors"
require_relative "../on_demand"
Penstock.load_constant :InvalidRequestError

module Penstock
  module Declaratives
    # Carries out the steps of a {Plan}, one request after another. A step that fails doesn't keep the others from running; a plan
    # that is made again contains what is left. Runs on the caller's thread.
    class Applier
      # The outcome of a step; `error` is nil when it is done.
      Outcome = Struct.new(:step, :error)

      # @param admin [Admin]
      def initialize(admin)
        @admin = admin
      end

      # @param plan [Plan]
      # @yieldparam outcome [Outcome] as soon as it is known
      # @return [Array<Outcome>]
      def call(plan)
        plan.steps.map do |step|
          Outcome.new(step, attempt(step)).freeze.tap { |outcome| yield outcome if block_given? }
        end
      end

      private

      # @return [Exception, nil]
      def attempt(step)
        send(step.kind, step)
        nil
      rescue KafkaError, WaitTimeoutError, InvalidRequestError => error
        error
      end

      def create(step)
        @admin.create_topic(step.name, partitions: step.partitions, replication_factor: step.replication_factor,
          config: step.config)
      end

      def repartition(step) = @admin.create_partitions(step.name, step.to)

      def align(step)
        resource = Admin::Configs::Resource.new(type: :topic, name: step.name)
        step.changes.each { |property, (_from, to)| resource.set(property, to) }
        @admin.alter_configs(resource)
      end
    end
  end
end
