# frozen_string_literal: true

module Penstock
  class Producer
    # Puts a new client in the place of one that a fatal error has ended. The new one is opened by the next call.
    module Reloading
      private

      # Called by whoever has the transaction. A closing producer keeps its client: there is nothing left to be sent by another.
      #
      # Listeners of `producer.reload` may change `kafka`, for example its `transactional.id`; the new client gets it.
      def reload(error, attempt)
        kafka = Penstock::Config::KafkaHash.from(config.kafka)
        instrument("producer.reload", error: error, attempt: attempt, caller: self, kafka: kafka)
        client, reporter = let_go(kafka)
        return unless client

        client.close(0)
        reporter.join
        instrument("producer.reloaded", attempt: attempt)
      end

      # @return [Array, nil] what has to be ended, once no lock is held: listeners may be in calls of this producer
      def let_go(kafka)
        @lock.synchronize do
          return unless status.connected?

          @config = config.with_kafka(kafka) unless kafka == config.kafka
          @sending = nil
          @status = Status::CONFIGURED
          [@client, @reporter]
        end
      end
    end
  end
end
