# frozen_string_literal: true

module Penstock
  class Producer
    # Methods that produce tombstones, messages that delete a key: with a key, a partition, and no payload (a given one is
    # dropped). A tombstone needs its key and the key's partition, because in another partition it deletes nothing.
    module Tombstones
      # @param message [Hash]
      # @return [Delivery::Report]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceError] as {Producer#produce_sync}
      def tombstone_sync(message)
        produce_sync(pipeline.tombstone(message))
      end

      # @param message [Hash]
      # @return [Delivery::Handle]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceError] as {Producer#produce_async}
      def tombstone_async(message)
        produce_async(pipeline.tombstone(message))
      end

      # @param messages [Array<Hash>]
      # @return [Array<Delivery::Handle>]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceManyError] as {Producer#produce_many_sync}
      def tombstone_many_sync(messages)
        produce_many_sync(messages.map { |message| pipeline.tombstone(message) })
      end

      # @param messages [Array<Hash>]
      # @return [Array<Delivery::Handle>]
      # @raise [MessageInvalidError] also without key or partition
      # @raise [ProduceManyError] as {Producer#produce_many_async}
      def tombstone_many_async(messages)
        produce_many_async(messages.map { |message| pipeline.tombstone(message) })
      end
    end
  end
end
