# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/group_metadata"

module Penstock
  class Producer
    # Finds what a transaction needs to mark a record as consumed: the offset after the record, and the group that consumed it.
    module ConsumedOffset
      class << self
        # @param message [#topic, #partition, #offset]
        # @return [(String, Integer, Integer)] topic, partition, and the offset after the record
        # @raise [TransactionalOffsetInvalidError]
        def after(message)
          parts = %i[topic partition offset]
          values = parts.map { |part| message.public_send(part) } if parts.all? { |part| message.respond_to?(part) }
          topic, partition, offset = values
          if topic.nil? || !partition.is_a?(Integer) || !offset.is_a?(Integer) || offset.negative?
            raise TransactionalOffsetInvalidError, "a message marked as consumed must be a record with topic, partition and " \
              "offset, is #{message.class}#{" with #{values.inspect[0, 80]}" if values}"
          end
          [topic.respond_to?(:name) ? topic.name : topic.to_s, partition, offset + 1]
        end

        # @param consumer [#group_metadata, Native::GroupMetadata]
        # @return [Native::GroupMetadata]
        # @raise [TransactionalOffsetInvalidError]
        def group_of(consumer)
          group = consumer.respond_to?(:group_metadata) ? consumer.group_metadata : consumer
          return group if group.is_a?(Native::GroupMetadata)

          raise TransactionalOffsetInvalidError, "the consumer must have the `group_metadata` of its group, " \
            "#{consumer.class} has none"
        end
      end
    end
  end
end
