# frozen_string_literal: true

require_relative "../doubling"

module Penstock
  module Processing
    # Computes how long a lane waits before a record is tried again, in ms: constant, or doubling with every failed attempt up
    # to a maximum. With the defaults (1,000 / 30,000, doubling) the waits are 2, 4, 8, 16, 30, 30 … seconds. Nothing in it is
    # random: {Failure::Forecast} and the replay of a flight recording compute the same wait again.
    Backoff = Struct.new(:timeout_ms, :max_timeout_ms, :exponential) do
      # @param pause [#timeout, #max_timeout, #exponential] as configured
      def self.of(pause) = new(pause.timeout, pause.max_timeout, pause.exponential)

      # @param attempt [Integer] number of failed attempts, 1 after the first
      # @return [Integer] ms
      def delay_ms(attempt)
        return [timeout_ms, max_timeout_ms].min unless exponential
        Doubling.wait(timeout_ms, attempt, max_timeout_ms)
      end
    end
  end
end
