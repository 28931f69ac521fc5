# frozen_string_literal: true

module Penstock
  class Messages
    # Facts about a batch as a whole, fixed when the batch is handed to a worker.
    #
    # `created_at` is the timestamp of the last record (never later than now, as producers' clocks may run ahead),
    # `scheduled_at` the time the batch was cut, `processed_at` the time a worker started on it (nil before). All are Time.
    BatchMetadata = Struct.new(
      :size, :first_offset, :last_offset, :topic, :partition, :deserializers, :created_at, :scheduled_at, :processed_at,
      keyword_init: true
    ) do
      # @return [Integer] ms between the creation of the last record and its processing, -1 before it is processed
      def consumption_lag = lag_since(created_at)

      # @return [Integer] ms the batch waited for a worker, -1 before it is processed
      def processing_lag = lag_since(scheduled_at)

      private

      def lag_since(time)
        processed_at ? [((processed_at - time) * 1000).round, 0].max : -1
      end
    end
  end
end
