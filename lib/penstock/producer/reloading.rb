# frozen_string_literal: true

require_relative "../config/kafka_hash"
require_relative "../deadline"
require_relative "../errors"
require_relative "shutdown"
require_relative "status"

module Penstock
  class Producer
    # Puts a new client in the place of one that a fatal error has ended. The new one is opened by the next call.
    #
    # For a transactional producer whoever has the transaction does it, see {Transactions}. For an idempotent one it is the
    # first thread whose message is refused; the others meanwhile wait for it, then all send theirs with the new client.
    module Reloading
      # What a client that an error has ended may take for what is on its way, in ms.
      LAST_FLUSH_MS = 1_000

      # Codes and errors after which a client isn't replaced.
      #
      # @param settings [Settings]
      # @param error [KafkaError]
      # @return [Boolean] whoever was fenced would fence the other in turn
      def self.kept?(settings, error)
        codes = settings.non_reloadable_errors
        codes.include?(error.code) || (error.is_a?(FencedError) && codes.include?(:fenced))
      end

      private

      # Called by whoever has the transaction. A closing producer keeps its client: there is nothing left to be sent by another.
      #
      # Listeners of `producer.reload` may change `kafka`, for example its `transactional.id`; the new client gets it.
      #
      # @return [Reporter, nil] the old client's, whose listeners may be in calls that wait for what the caller holds: to be
      #   joined once nothing is held
      def reload(error, attempt, flush_ms: 0)
        kafka = Penstock::Config::KafkaHash.from(config.kafka)
        instrument("producer.reload", error: error, attempt: attempt, caller: self, kafka: kafka)
        client, reporter = let_go(kafka)
        return unless client

        client.close(flush_ms)
        instrument("producer.reloaded", attempt: attempt)
        reporter
      end

      # @return [Array, nil] what has to be ended
      def let_go(kafka)
        @lock.synchronize do
          return unless status.connected?

          @config = config.with_kafka(kafka) unless kafka == config.kafka
          @idle_watch&.stop
          @sending = nil
          @status = Status::CONFIGURED
          [@client, @reporter]
        end
      end

      # What was refused has not been sent, so that it may go to another client.
      #
      # @param client [Native::Producer] which has refused it
      # @param error [KafkaError] which has ended that one
      # @return [Boolean] whether there is another one now
      def revive(client, error)
        return false unless revivable? && !@revival.owned?

        reporter = @revival.synchronize { replace(client, error) if lost?(client) }
        return status.active? && !lost?(client) unless reporter

        reporter.join(Shutdown::LISTENERS_MS)
        pause_behind_reload
        true
      end

      def revivable?
        config.reload_on_idempotent_fatal_error && idempotent? && !transactional?
      end

      def lost?(client)
        status.connected? && client.equal?(@client)
      end

      # A client that has delivered something was none of a row of failures.
      #
      # @return [Reporter, nil] nil when it stays
      def replace(client, error)
        @reloads = 0 if client.counts.first.positive?
        return if Reloading.kept?(config, error) || @reloads >= config.max_attempts_on_idempotent_fatal_error

        @reloads += 1
        instrument("error.occurred", type: "librdkafka.idempotent_fatal_error", error: error, attempt: @reloads)
        reload(error, @reloads, flush_ms: LAST_FLUSH_MS)
      end

      # A close ends it.
      def pause_behind_reload
        deadline = Deadline.in(config.wait_backoff_on_idempotent_fatal_error)
        @lock.synchronize do
          @ended.wait(@lock, deadline.remaining_ms / 1_000.0) until deadline.expired? || !status.active?
        end
      end
    end
  end
end
