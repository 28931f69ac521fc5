# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists events of Karafka that Penstock doesn't have, because the moment doesn't exist here, with what to listen
      # to instead. Stateless.
      module Events
        POLL = "There is no polling interval: listen to consumer.consumed for batches, statistics.emitted for the connection"
        PENDING = "consumer.consume is published when a worker starts the batch; processing_lag in its metadata is how long " \
          "it waited"
        POLLER = "A producer is polled by a thread in C"

        HINTS = {
          "client.pause" => "consumer.consuming.pause is published for pauses by user code and before retries",
          "client.resume" => "consumer.consuming.retry is published at the end of a back-off",
          "client.events_poll" => POLL,
          "connection.listener.before_fetch_loop" => "app.running and rebalance.partitions_assigned are published at the start",
          "connection.listener.fetch_loop" => POLL,
          "connection.listener.after_fetch_loop" => "connection.listener.stopped is published at the end",
          "connection.listener.fetch_loop.received" => POLL,
          "connection.listener.pending" => "multiplexing.up and multiplexing.down are published when connections are added " \
            "and removed",
          "consumer.initialize" => "consumer.initialized is published with its time",
          "consumer.idle" => "filtering.dropped and filtering.throttled are published if nothing is left of a batch",
          "consumer.wrap" => "A consumer's `wrap` and middleware have no events: instrument an event of your own in them",
          "consumer.wrapped" => "A consumer's `wrap` and middleware have no events: instrument an event of your own in them",
          "swarm.manager.control" => "swarm.manager.node_ended, .stopping and .restarting are published for the supervisor's " \
            "actions",
          "poller.producer_registered" => POLLER, "poller.producer_unregistered" => POLLER,
          "producer.created" => "Create producers in one place, and subscribe there",
          "producer.configured" => "Create producers in one place, and subscribe there",
          "connection_pool.setup" => "connection_pool.created is published when a pool is created",
          **%w[consume idle revoked tick eofed shutdown].to_h { |action| ["consumer.before_schedule_#{action}", PENDING] }
        }.freeze
        METHODS = HINTS.keys.to_h { |name| [:"on_#{name.tr(".", "_")}", name] }.freeze
        private_constant :METHODS, :POLL, :PENDING, :POLLER

        # @param name [String, Symbol]
        # @return [String, nil]
        def self.hint(name) = HINTS[name.to_s]

        # Methods that a proxy implements with method_missing don't count.
        # @param listener [Object]
        # @return [Array<String>] events for which it has a method that would never be called
        def self.in(listener) = METHODS.values_at(*(METHODS.keys & listener.public_methods))
      end
    end
  end
end
