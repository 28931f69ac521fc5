# frozen_string_literal: true

require_relative "dispatcher"
require_relative "running"

module Penstock
  module ActiveJob
    # The methods of Active Job's adapter; see docs/active_job.md. Any thread.
    module Adapter
      # @param producer [#call, nil] returns the producer of the jobs; nil: that of the application
      def initialize(producer: nil)
        @penstock = Dispatcher.new(producer: producer || -> { Penstock.producer },
          outbox: ->(messages) { Penstock::Outbox.enqueue_alone(messages) }, log: -> { Penstock.app && Penstock.logger })
      end

      # Called by `perform_later`.
      # @param job [::ActiveJob::Base]
      # @return [void]
      # @raise [ProduceError] it is not known to be stored. Not ActiveJob::EnqueueError, for which `perform_later` returns false:
      #   a job nobody asks about would be lost
      # @raise [MessageInvalidError, ::ActiveJob::SerializationError] it can't be sent
      def enqueue(job) = @penstock.one(job)

      # Called by `perform_later` of a job with `wait` or `wait_until`, and by `retry_on`.
      # @param job [::ActiveJob::Base]
      # @param timestamp [Numeric] seconds since 1970; one that has passed is now
      # @return [void]
      # @raise [NotImplementedError] the application has no delays
      # @raise (see #enqueue)
      def enqueue_at(job, timestamp) = @penstock.one(job, timestamp)

      # Called by `perform_all_later`. Each job knows afterwards whether it was enqueued.
      # @param jobs [Array<::ActiveJob::Base>]
      # @return [Integer] how many were enqueued
      # @raise [ProduceError] the first error, after all were tried
      def enqueue_all(jobs) = @penstock.many(jobs)

      # Asked by jobs that can continue later (ActiveJob::Continuable).
      # @return [Boolean] whether the process stops, or the partition of the job that asks is taken from it
      def stopping?
        running = Running.current
        running ? running.consumer.stopping? : !!Penstock.app&.done?
      end
    end
  end
end
