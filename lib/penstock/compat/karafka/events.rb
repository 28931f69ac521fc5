# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Events of Karafka that Penstock doesn't have, because the moment doesn't exist here, each with what to listen to instead.
      # Without state.
      module Events
        POLL = "Nothing is polled in turns: consumer.consumed tells of a batch, statistics.emitted of the connection"
        PENDING = "consumer.consume begins where a worker takes up the batch; its metadata's processing_lag is how long it waited"
        JOB = "This version has no Active Job adapter"
        POLLER = "A producer is polled by a thread in C"

        HINTS = {
          "client.pause" => "consumer.consuming.pause tells of pauses, by user code and before retries",
          "client.resume" => "consumer.consuming.retry tells of the end of a back-off",
          "client.events_poll" => POLL,
          "connection.listener.before_fetch_loop" => "app.running and rebalance.partitions_assigned tell of the beginning",
          "connection.listener.fetch_loop" => POLL,
          "connection.listener.after_fetch_loop" => "connection.listener.stopped tells of the end",
          "connection.listener.fetch_loop.received" => POLL,
          "connection.listener.pending" => "multiplexing.up and multiplexing.down tell of connections that come and go",
          "consumer.initialize" => "consumer.initialized is told with its time",
          "consumer.idle" => "filtering.dropped and filtering.throttled tell where nothing was left of a batch",
          "consumer.wrap" => "A consumer's `wrap` and middleware are told nowhere: instrument an event of your own in it",
          "consumer.wrapped" => "A consumer's `wrap` and middleware are told nowhere: instrument an event of your own in it",
          "active_job.consume" => JOB, "active_job.consumed" => JOB,
          "swarm.manager.control" => "swarm.manager.node_ended, .stopping and .restarting tell what the supervisor does",
          "poller.producer_registered" => POLLER, "poller.producer_unregistered" => POLLER,
          "producer.created" => "Make it in one place, and subscribe there",
          "producer.configured" => "Make it in one place, and subscribe there",
          "connection_pool.setup" => "connection_pool.created is told when a pool is made",
          **%w[consume idle revoked tick eofed shutdown].to_h { |action| ["consumer.before_schedule_#{action}", PENDING] }
        }.freeze
        METHODS = HINTS.keys.to_h { |name| [:"on_#{name.tr(".", "_")}", name] }.freeze
        private_constant :METHODS, :POLL, :PENDING, :JOB, :POLLER

        # @param name [String, Symbol]
        # @return [String, nil]
        def self.hint(name) = HINTS[name.to_s]

        # Methods that a proxy answers by method_missing don't count.
        # @param listener [Object]
        # @return [Array<String>] names of events for which it has a method that would never be called
        def self.in(listener) = METHODS.values_at(*(METHODS.keys & listener.public_methods))
      end
    end
  end
end
