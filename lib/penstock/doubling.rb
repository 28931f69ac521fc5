# frozen_string_literal: true

module Penstock
  # The formula of every exponential back-off: a first wait that doubles with each failure, up to a maximum. Stateless.
  module Doubling
    # Beyond that every maximum is reached; keeps the Integer small.
    MOST = 30
    private_constant :MOST

    # @param first [Numeric] wait after no doubling
    # @param times [Integer] how often it has doubled; below 0 counts as 0
    # @param maximum [Numeric]
    # @return [Numeric] in the unit of `first`
    def self.wait(first, times, maximum) = [first * (2**times.clamp(0, MOST)), maximum].min
  end
end
