# frozen_string_literal: true

require_relative "../errors"
require_relative "../on_demand"
require_relative "current_attributes"
require_relative "errors"
require_relative "running"
Penstock.load_constant :BaseConsumer

module Penstock
  module ActiveJob
    # Performs the jobs of a topic; `active_job_topic` draws it. An error that Active Job doesn't handle fails the
    # job's record: it is retried and then dead-lettered, like any other.
    class Consumer < BaseConsumer
      # @return [void]
      def consume
        refuse_shared_attributes if Fiber.current_scheduler
        messages.each { |message| penstock_perform(message) }
      end

      private

      def penstock_perform(message)
        data = penstock_data(message)
        monitor = @penstock_context.loop_client.monitor
        return penstock_execute(message, data) unless penstock_heard(monitor)

        payload = {caller: self, job: data, message: message, job_class: data["job_class"], job_id: data["job_id"],
                   topic: message.topic, partition: message.partition, offset: message.offset, attempt: attempt}
        monitor.instrument("active_job.consume", payload)
        monitor.instrument("active_job.consumed", payload) { penstock_execute(message, data) }
      end

      # @return [Boolean] whether the events of jobs have listeners: checked once per change of the listeners
      def penstock_heard(monitor)
        subscriptions = monitor.subscriptions
        return @penstock_heard if subscriptions.equal?(@penstock_subscriptions)
        @penstock_heard = monitor.subscribed?("active_job.consume") || monitor.subscribed?("active_job.consumed")
        @penstock_subscriptions = subscriptions
        @penstock_heard
      end

      # @return [Hash]
      def penstock_data(message)
        data = message.payload
        return data if data.is_a?(Hash) && data["job_class"].is_a?(String)
        raise InvalidJobError, "#{message.uid} isn't a job of Active Job: #{penstock_fault(data)}. Only Active Job's adapters " \
          "may write to this topic"
      end

      def penstock_fault(data)
        return "it has no job_class" if data.is_a?(Hash)
        data.nil? ? "its payload is empty" : "its payload is a #{data.class}"
      end

      def penstock_execute(message, data)
        Running.within(self, message, data["job_id"]) do
          ::ActiveJob::Base.execute(data.merge("provider_job_id" => message.uid)) # a copy: a deserializer may share its objects
        end
      ensure
        CurrentAttributes.reset
      end

      # Fibers of a thread would share attributes, and a database connection.
      def refuse_shared_attributes
        return unless ActiveSupport::IsolatedExecutionState.isolation_level == :thread
        raise SharedStateError, "jobs of #{topic.name} run in fibers (run_on :fibers), but Active Support keeps its state by " \
          "thread: jobs would see each other's attributes. Write ActiveSupport::IsolatedExecutionState.isolation_level = " \
          ":fiber, in Rails config.active_support.isolation_level = :fiber"
      end
    end
  end
end
