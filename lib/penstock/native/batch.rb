# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # The records of one take, copied into memory of their own: see `ext/penstock_kafka/batch.c`, which defines the rest. Read by
    # any thread; ends with `release!`, or with the collector.
    class Batch
      # @return [Integer] ms since the epoch at which the record was taken: as all of its batch
      def received_ms(_index) = context.received_ms
    end
  end
end
