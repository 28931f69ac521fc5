# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module ActiveJob
    # The port through which jobs wait: what `wait`, `wait_until` and `retry_on wait:` use. A scheduler turns the message of a job
    # that is due later into the message that is produced now in its place. It produces nothing itself: so that a delayed job
    # takes the same way as every other one, synchronously, asynchronously, through a producer of its own or through the outbox.
    #
    # A scheduler is an object with
    #
    #     call(message, due_ms)   # => Hash, the message to produce in its place
    #     draw(routes)            # draws the topics it needs, when the first `active_job_topic` is drawn (once per `routes.draw`)
    #
    # where `message` is a Hash as {Producer} takes it, frozen (`topic`, `payload`, and perhaps `key`, `partition_key`,
    # `partition`, `headers`), and `due_ms` is wall-clock time in ms, in the future. The message must arrive in its topic with
    # its key, headers and payload unchanged, never before `due_ms`. Any thread calls it.
    module Later
      # Stands in while there is no scheduler: every job that has to wait is refused.
      module None
        HINT = "Enqueue it without `wait`, and let `retry_on` retry with `wait: 0, jitter: 0`; or remove " \
          "`active_job_delays false` from the routes"
        private_constant :HINT

        class << self
          # @raise [NotImplementedError] always; Active Job's documented error for adapters that can't delay
          def call(message, _due_ms)
            no_application(message) if !Later.switched_off? && Penstock.app.nil?
            raise NotImplementedError, "the job of topic #{message[:topic]} is due later, and this application has no delays " \
              "for jobs. #{HINT}"
          end

          # Draws nothing.
          def draw(_routes)
          end

          private

          def no_application(message)
            raise NotImplementedError, "the job of topic #{message[:topic]} is due later, and no application is defined, in " \
              "whose delay topics it would wait. Load the boot file, whose class inherits from Penstock::App and draws " \
              "`active_job_topic`, before such a job is enqueued"
          end
        end
      end

      class << self
        # @return [#call, #draw] the scheduler of this process: the one that was set, or else the application's (`delays`)
        def scheduler = @switched_off ? None : @scheduler || applications || None

        # @return [Boolean] whether the routes have `active_job_delays false`
        # @api private
        def switched_off? = @switched_off ? true : false

        # @param switched [Boolean] false: jobs can't wait in this process (`active_job_delays false`)
        # @api private
        def enabled=(switched)
          @switched_off = !switched
        end

        # @param scheduler [#call, #draw, nil] nil: none
        # @raise [ArgumentError]
        def scheduler=(scheduler)
          lacking = %i[call draw].reject { |name| scheduler.nil? || scheduler.respond_to?(name) }
          raise ArgumentError, "#{scheduler.inspect[0, 80]} has no #{lacking.join(", no ")}: a scheduler has both" if lacking.any?
          @scheduler = scheduler
        end

        private

        def applications
          application = Penstock.app
          application.delays if application.respond_to?(:delays)
        end
      end
    end
  end
end
