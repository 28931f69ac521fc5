# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # The records of one take, copied into memory of their own: see `ext/penstock_kafka/rb_batch.c`, which defines the rest. Any
    # thread may read it; it ends with `release!`, or when it is garbage-collected.
    class Batch
      # @return [Integer] ms since the epoch at which the record was taken: the same for the whole batch
      def received_ms(_index) = context.received_ms
    end
  end
end
