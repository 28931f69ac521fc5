# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "examples"
Penstock.load_constant :Producer

module Penstock
  module Testing
    class Kit
      # A producer's client during examples: passes every message to the example that it belongs to, those of a transaction
      # when it is committed. Outside of examples messages are dropped. Any thread.
      class MemoryClient < Producer::DryClient
        def initialize
          super
          @pending = nil
          @consumed = []
        end

        # @param parts [Array] as for the driver: topic, payload, key, partition, timestamp, headers, handle, label
        def offer(*parts)
          kit = Examples.current
          return super unless kit

          message = kit.accept(*parts)
          @lock.synchronize { @pending&.push([kit, message]) } || kit.deliver(message)
          return true unless parts[6]

          Producer::Delivery::DryHandle.new(topic: message.topic, partition: message.partition, offset: message.offset,
            label: message.label)
        end

        # As the route declares the topic.
        def query_partitions(topic, _timeout_ms) = Examples.current&.partitions_of(topic) || 1

        def begin_transaction
          @lock.synchronize { @pending, @consumed = [], [] }
        end

        # Offsets that become visible with the messages.
        def send_offsets_to_transaction(rows, group, _timeout_ms)
          @lock.synchronize { @consumed << [rows, group] }
        end

        def commit_transaction(_timeout_ms)
          pending, offsets = @lock.synchronize { [@pending, @consumed].tap { @pending, @consumed = nil, [] } }
          pending&.each { |kit, message| kit.deliver(message) }
          offsets.each { |rows, group| Examples.current&.offsets_committed(rows, group) }
        end

        def abort_transaction(_timeout_ms)
          @lock.synchronize { @pending, @consumed = nil, [] }
        end
      end
    end
  end
end
