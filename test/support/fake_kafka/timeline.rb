# frozen_string_literal: true

module Penstock
  module TestSupport
    module FakeKafka
      # What happens next in a simulated world: things to do at a virtual time (ms), run one after another. What is due in the
      # same millisecond runs in an order drawn from the seed. Nothing here waits; one thread.
      class Timeline
        TIE_BITS = 10
        SEQUENCE_BITS = 20
        private_constant :TIE_BITS, :SEQUENCE_BITS

        # @return [Integer] virtual ms
        attr_reader :now

        # @return [Integer] how much has happened
        attr_reader :steps

        # @param random [Random]
        def initialize(random, now: 0)
          @random = random
          @now = now
          @keys = []
          @actions = {}
          @sequence = 0
          @steps = 0
        end

        # @param time [Integer]
        # @return [Integer] takes it off again: {#cancel}
        def at(time, &action)
          time = @now if time < @now
          key = (((time << TIE_BITS) | @random.rand(1 << TIE_BITS)) << SEQUENCE_BITS) | (@sequence += 1)
          insert(key)
          @actions[key] = action
          key
        end

        # @param delay_ms [Integer]
        def after(delay_ms, &action) = at(@now + delay_ms, &action)

        # Lets time go by, as far as nothing is to happen before.
        # @param time [Integer]
        def pass_to(time)
          ends = [time, next_at].compact.min
          @now = ends if ends > @now
        end

        # @param key [Integer] as {#at} gave it
        def cancel(key) = @actions.delete(key)

        # @return [Integer, nil] when something is to happen
        def next_at
          @keys.pop while (key = @keys.last) && !@actions.key?(key)
          key && (key >> (TIE_BITS + SEQUENCE_BITS))
        end

        # Lets the next thing happen.
        # @return [Boolean] whether there was one
        def step
          time = next_at or return false
          @now = time
          @steps += 1
          @actions.delete(@keys.pop).call
          true
        end

        def inspect = "#<Timeline>"

        private

        # Latest first; most of what is put in is the next to happen.
        def insert(key)
          last = @keys.last
          return @keys << key if last.nil? || key < last
          @keys.insert(@keys.bsearch_index { |other| other < key }, key)
        end
      end
    end
  end
end
