# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Metrics
      # One row of the {Catalogue}: a metric, and how it is updated by events. A value.
      #
      # `kind` is `:counter`, `:gauge` or `:histogram`; `events` are the names of the events that update it, or empty if it is
      # read at each scrape. `amount` is the key of the payload with the value, a callable that gets the payload, or nil for 1;
      # a time in milliseconds becomes seconds if the unit is seconds.
      Metric = Struct.new(:name, :kind, :unit, :help, :labels, :buckets, :events, :amount, keyword_init: true) do
        # @return [Boolean]
        def histogram? = kind == :histogram

        # @return [Boolean]
        def gauge? = kind == :gauge

        # @param payload [Hash{Symbol => Object}] of one of its events
        # @return [Numeric, nil] nil: the event doesn't have the value
        def value(payload)
          reader = self.reader
          reader.is_a?(Symbol) ? payload[reader] : reader.call(payload)
        end

        # Determined once by what reads a value at each event.
        # @return [Symbol, #call] the key of the value in a payload, or what returns the value for a payload
        def reader
          amount = self.amount
          return ->(_payload) { 1 } if amount.nil?
          return amount unless unit == :seconds
          return ->(payload) { (found = amount.call(payload)) && (found / 1_000.0) } unless amount.is_a?(Symbol)
          ->(payload) { (found = payload[amount]) && (found / 1_000.0) }
        end
      end
    end
  end
end
