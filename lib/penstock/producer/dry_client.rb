# frozen_string_literal: true

require_relative "delivery/dry_handle"

module Penstock
  class Producer
    # Replaces the client when nothing is to be delivered (`config.deliver = false`): accepts every message and counts offsets
    # up from 0, per topic and partition. Any thread may use it.
    class DryClient
      def initialize
        @lock = Mutex.new
        @offsets = Hash.new(0)
        @closed = false
      end

      # No fast path: every message is checked in Ruby.
      def dispatch(_message)
      end

      def plain_message?(_message)
        false
      end

      def plain?(_messages)
        false
      end

      def open_topic(_name)
      end

      def open_topic_with(_key, _name, _properties)
      end

      # @param parts [Array] as for the driver: topic, payload, key, partition, timestamp, headers, handle, label
      def offer(*parts)
        topic, _, _, partition, _, _, handle, label = parts
        partition = 0 if partition.nil? || partition.negative?
        offset = @lock.synchronize { (@offsets[[topic, partition]] += 1) - 1 }
        handle ? Delivery::DryHandle.new(topic: topic, partition: partition, offset: offset, label: label) : true
      end

      def dispatch_slice(messages, from, handles, accepted)
        messages.drop(from).each do |message|
          accepted << offer(*message.values_at(:topic, :payload, :key, :partition, :timestamp, :headers), handles,
            message[:label])
        end
        0
      end

      def sync_wait(_handle, _timeout_ms)
        true
      end

      def flush(_timeout_ms)
        true
      end

      def purge
      end

      def queue_size
        0
      end

      # Nothing is sent, so there are no transactions to coordinate.
      %i[init_transactions begin_transaction send_offsets_to_transaction commit_transaction abort_transaction].each do |name|
        define_method(name) { |*| }
      end

      def counts
        [0, 0]
      end

      def ticket
        0
      end

      def last_error
        ""
      end

      def query_partitions(_topic, _timeout_ms)
        -1
      end

      def want(_mask)
      end

      def wait_for_reports(_timeout_ms)
        false
      end

      # Everything counts as delivered at once.
      def count_undelivered(_keep)
      end

      def undelivered
        [0, 0]
      end

      def take_undelivered
      end

      def close(_timeout_ms)
        @closed = true
        0
      end

      def close_idle
        @closed = true
      end

      def closed?
        @closed
      end

      def state
        @closed ? :closed : :open
      end

      def fatal_error
      end
    end
  end
end
