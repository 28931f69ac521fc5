# frozen_string_literal: true

module Penstock
  module TestSupport
    class Assembled
      # What a route may say about records, in every combination.
      FLAGS = %i[manual isolate delay expire throttle filter dead_letters breaker batch eofed].freeze
      COMBINATIONS = %i[none key message].product(*FLAGS.map { [false, true] }).map do |parallel, *flags|
        {parallel: parallel, **FLAGS.zip(flags).to_h}.freeze
      end.freeze

      # The seed names the combination too. So many seeds in a row as there are combinations play each of them once, for
      # 997 and their number have no divisor in common.
      def self.play(seed) = new(COMBINATIONS[(seed * 997) % COMBINATIONS.size], seed).run
    end
  end
end
