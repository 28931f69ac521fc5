# frozen_string_literal: true

module Penstock
  module Instrumentation
    # What {LoggerListener} writes of producers' clients and pools; part of it.
    module ProducerLines
      def on_producer_disconnected(event)
        @logger.debug { "producer #{event[:producer_id]}: without work, disconnected" }
      end

      def on_producer_undelivered(event)
        @logger.warn do
          "producer #{event[:producer_id]}: closed with #{event[:count]} messages undelivered: #{event[:failed]} are certainly " \
            "not stored, of #{event[:unknown]} it isn't known"
        end
      end

      def on_connection_pool_reloaded(event)
        @logger.info { "pool of producers: replaced (#{event[:pool].inspect})" }
      end

      def on_connection_pool_shutdown(event)
        @logger.info { "pool of producers: closed (#{event[:pool].inspect})" }
      end
    end
  end
end
