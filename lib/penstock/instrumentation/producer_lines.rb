# frozen_string_literal: true

require_relative "../printable"
require_relative "lines"

module Penstock
  module Instrumentation
    # The log lines of {LoggerListener} for producers' clients and pools; part of it.
    module ProducerLines
      def on_producer_connected(event)
        @log.debug(event) { "producer #{event[:producer_id]}: connected" }
      end

      def on_producer_closed(event)
        @log.info(event) { "producer #{event[:producer_id]}: closed in #{Lines.time(event)}" }
      end

      def on_producer_reload(event)
        @log.warn(event) { "producer #{event[:producer_id]}: its client is replaced (#{Printable.message(event[:error])})" }
      end

      def on_producer_queue_full(event)
        @log.repeated(:warn, event) { "producer #{event[:producer_id]}: the queue is full, waiting for deliveries" }
      end

      def on_producer_disconnected(event)
        @log.debug(event) { "producer #{event[:producer_id]}: idle, disconnected" }
      end

      def on_producer_undelivered(event)
        @log.warn(event) do
          "producer #{event[:producer_id]}: closed with #{event[:count]} messages undelivered: #{event[:failed]} are certainly " \
            "not stored, #{event[:unknown]} may be stored"
        end
      end

      def on_connection_pool_reloaded(event)
        @log.info(event) { "pool of producers: replaced (#{event[:pool].inspect})" }
      end

      def on_connection_pool_shutdown(event)
        @log.info(event) { "pool of producers: closed (#{event[:pool].inspect})" }
      end
    end
  end
end
