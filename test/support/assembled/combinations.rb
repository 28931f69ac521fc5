# frozen_string_literal: true

module Penstock
  module TestSupport
    class Assembled
      # The options of a route that concern records, in every combination.
      FLAGS = %i[manual isolate delay expire throttle filter dead_letters breaker batch eofed].freeze
      COMBINATIONS = %i[none key message].product(*FLAGS.map { [false, true] }).map do |parallel, *flags|
        {parallel: parallel, **FLAGS.zip(flags).to_h}.freeze
      end.freeze

      # The seed selects the combination, too. As many consecutive seeds as there are combinations run each of them once,
      # because 997 and their number have no common divisor.
      def self.combination(seed) = COMBINATIONS[(seed * 997) % COMBINATIONS.size]

      def self.play(seed) = new(combination(seed), seed).run
    end
  end
end
