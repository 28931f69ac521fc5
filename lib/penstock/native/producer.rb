# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"
require_relative "delivery"
require_relative "fiber_waits"
require_relative "group_metadata"
require_relative "handles"

module Penstock
  module Native
    # A librdkafka producer with its event thread, see ext/penstock_kafka/rb_producer.c. It owns that thread, a helper thread
    # during synchronous waits, and librdkafka's own, all until {#close}. Any thread may use it; a forked child can't.
    #
    # In C, messages: `open_topic(name)`, `open_topic_with(key, name, properties)`, `dispatch(message)`,
    # `plain_message?(message)`, `plain?(messages)`, `dispatch_slice(messages, from, handles, accepted)`, `offer(…)`; waiting:
    # `sync_wait(delivery, timeout_ms)`, `ticket`, `wait_for_room(ticket, timeout_ms)`, `flush(timeout_ms)`, `purge`;
    # reports: `want(mask)`, `wait_for_reports(timeout_ms)`, `take_reports(max)`, `poll_event`; life cycle:
    # `close(timeout_ms)`, `close_idle`, `discard!`, `closed?`, `state`, `pid`, `name`; what a close couldn't deliver:
    # `count_undelivered(keep)`, `undelivered`, `take_undelivered`; and `queue_size`, `accepted`, `counts`,
    # `query_partitions(topic, timeout_ms)`,
    # `fatal_error`, `last_error`, `set_token`, `set_token_failure`.
    #
    # Transactions, one call at a time: `init_transactions(timeout_ms)`, `begin_transaction`,
    # `send_offsets_to_transaction([[topic, partition, offset, metadata, leader_epoch], …], group_metadata, timeout_ms)`,
    # `commit_transaction(timeout_ms)`, `abort_transaction(timeout_ms)`. They raise KafkaErrors whose {KafkaError#retriable?},
    # {KafkaError#abortable?} and {KafkaError#fatal?} show what can be done. An interrupted call continues in C:
    # `transaction_call` names it, calling the same method again returns its result, any other call waits for its end first.
    class Producer
      MAX_PAYLOAD_BYTES = 1_000_012

      # @param conf [Hash{String=>String}] librdkafka's properties
      # @param delivery_class [Class] {Delivery} or a subclass: the class of the handles that dispatching returns
      # @param max_payload_bytes [Integer] larger payloads aren't dispatched here: the caller raises the error for them
      # @param token_refresh [Boolean] whether to report requests for OAuth tokens as events
      # @raise [KafkaError] `:invalid_arg` when librdkafka refuses the configuration
      def initialize(conf, delivery_class: Delivery, max_payload_bytes: MAX_PAYLOAD_BYTES, token_refresh: false)
        connect(conf, delivery_class, max_payload_bytes, token_refresh)
        @fiber_waits = FiberWaits.new
        Handles.opened(self)
      end

      # Closes the descriptors that fibers have waited with when the client is closed.
      module Closing
        # See ext/penstock_kafka/rb_producer_close.c.
        def close(timeout_ms)
          super
        ensure
          @fiber_waits&.close
        end

        # See ext/penstock_kafka/rb_producer_close.c.
        def close_idle
          super.tap { |closed| @fiber_waits.close if closed }
        end
      end
      private_constant :Closing
      prepend Closing

      # @return [FiberWaits] how fibers wait for what it delivers
      attr_reader :fiber_waits

      # Produces one message, given in parts.
      #
      # @param timestamp_ms [Integer] 0 for now
      # @return [Delivery, true] true if `handle` is false
      # @raise [QueueFullError] take a {#ticket} before and {#wait_for_room} after it
      # @raise [KafkaError] librdkafka refused it: it isn't sent
      def produce(topic, payload, key = nil, partition: -1, timestamp_ms: 0, headers: nil, handle: true, label: nil)
        open_topic(topic)
        offer(topic, payload, key, partition, timestamp_ms, headers, handle, label) || raise(QueueFullError)
      end

      # Called by a listener for OAuth tokens with a new token.
      #
      # @param lifetime_ms [Integer] when it expires, in milliseconds since 1970
      # @param extensions [Hash{String => String}, nil] SASL extensions (KIP-342)
      # @return [void]
      # @raise [KafkaError]
      def oauthbearer_set_token(token:, lifetime_ms:, principal_name:, extensions: nil)
        set_token(token, lifetime_ms, principal_name, extensions)
      end

      # Called by a listener for OAuth tokens when there is no token.
      #
      # @return [void]
      def oauthbearer_set_token_failure(reason)
        set_token_failure(reason)
      end

      # @return [String]
      def inspect
        closed? ? "#<#{self.class} #{state}>" : "#<#{self.class} #{name}>"
      end
    end
  end
end
