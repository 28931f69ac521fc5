# frozen_string_literal: true

module Penstock
  class Producer
    # Messages that delete: a key, a partition, and no payload (one that is given is dropped). They need a key and a
    # partition, for one that goes to another partition than its key deletes nothing.
    module Tombstones
      # @param message [Hash]
      # @return [Delivery::Report]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceError] as {Producer#produce_sync}
      def tombstone_sync(message)
        produce_sync(tombstone(message))
      end

      # @param message [Hash]
      # @return [Delivery::Handle]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceError] as {Producer#produce_async}
      def tombstone_async(message)
        produce_async(tombstone(message))
      end

      # @param messages [Array<Hash>]
      # @return [Array<Delivery::Handle>]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceManyError] as {Producer#produce_many_sync}
      def tombstone_many_sync(messages)
        produce_many_sync(messages.map { |message| tombstone(message) })
      end

      # @param messages [Array<Hash>]
      # @return [Array<Delivery::Handle>]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceManyError] as {Producer#produce_many_async}
      def tombstone_many_async(messages)
        produce_many_async(messages.map { |message| tombstone(message) })
      end

      private

      def tombstone(message)
        connect unless @preparation
        @preparation.tombstone(message)
      end
    end
  end
end
