# frozen_string_literal: true

require_relative "../on_demand"
Penstock.load_constant :Producer

module Penstock
  module Testing
    # Replaces a producer's client in tests: nothing is sent, every message is kept.
    #
    #     config.client_class = Penstock::Testing::BufferedClient
    #     …
    #     producer.client.messages_for("orders")   # => [{topic: "orders", payload: "…"}]
    #
    # Offsets start at 0 for each topic and partition. Messages of an aborted transaction are discarded, those of an
    # open one aren't shown yet. Any thread may use it.
    class BufferedClient < Producer::DryClient
      def initialize
        super
        reset
      end

      # @return [Array<Hash>] all sent messages in order
      def messages
        @lock.synchronize { @messages.dup }
      end

      # @param topic [String, Symbol]
      # @return [Array<Hash>]
      def messages_for(topic)
        messages.select { |message| message[:topic] == topic.to_s }
      end

      # Discards all messages; offsets continue.
      #
      # @return [void]
      def reset
        @lock.synchronize do
          @messages = []
          @pending = nil
        end
      end

      def offer(*parts)
        super.tap { keep(message_of(parts)) }
      end

      def begin_transaction
        @lock.synchronize { @pending = [] }
      end

      def commit_transaction(_timeout_ms)
        @lock.synchronize do
          @messages.concat(@pending || [])
          @pending = nil
        end
      end

      def abort_transaction(_timeout_ms)
        @lock.synchronize { @pending = nil }
      end

      private

      def keep(message)
        @lock.synchronize { (@pending || @messages) << message }
      end

      # A topic with properties of its own is named before a line's end.
      def message_of(parts)
        topic, payload, key, partition, timestamp, headers, _handle, label = parts
        {topic: topic.to_s[/.*/], payload: payload}
          .merge({key: key, partition: partition, timestamp: timestamp, headers: headers, label: label}.compact)
      end
    end
  end
end
