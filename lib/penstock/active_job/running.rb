# frozen_string_literal: true

module Penstock
  module ActiveJob
    # Knows which job runs on a thread, in a fiber where units run in fibers: so that Active Job can ask whether it should stop,
    # and a retry gets the key of its record. Code that a job runs on threads of its own is outside of it.
    module Running
      KEY = :penstock_active_job
      private_constant :KEY

      # A job with the consumer and the message it came with. `job_id` is Active Job's.
      Job = Struct.new(:consumer, :message, :job_id)

      class << self
        # @param consumer [Consumer]
        # @param message [Message]
        # @param job_id [String]
        # @yieldreturn [Object]
        def within(consumer, message, job_id)
          thread = Thread.current
          before = thread[KEY]
          thread[KEY] = Job.new(consumer, message, job_id)
          yield
        ensure
          Thread.current[KEY] = before
        end

        # @return [Job, nil]
        def current = Thread.current[KEY]

        # @param job [::ActiveJob::Base]
        # @return [Job, nil] if it is the one that runs: it is enqueued again
        def of(job) = current&.then { |running| running if running.job_id == job.job_id }
      end
    end
  end
end
