# frozen_string_literal: true

module Penstock
  module Testing
    module Memory
      module Kafka
        # The event queue of a simulated world: blocks to run at a virtual time (ms), one after another. Blocks that are
        # due in the same millisecond run in an order drawn from the seed. Nothing here waits; one thread.
        class Timeline
          TIE_BITS = 10
          SEQUENCE_BITS = 26
          private_constant :TIE_BITS, :SEQUENCE_BITS

          # @return [Integer] virtual ms
          attr_reader :now

          # @return [Integer] how many blocks have run
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
          # @return [Integer] key for {#cancel}
          def at(time, &action)
            time = @now if time < @now
            key = (((time << TIE_BITS) | @random.rand(1 << TIE_BITS)) << SEQUENCE_BITS) | (@sequence += 1)
            insert(key)
            @actions[key] = action
            key
          end

          # @param delay_ms [Integer]
          def after(delay_ms, &action) = at(@now + delay_ms, &action)

          # Advances the time, as far as nothing is due before.
          # @param time [Integer]
          def pass_to(time)
            ends = [time, next_at].compact.min
            @now = ends if ends > @now
          end

          # @param key [Integer] as {#at} returned it
          def cancel(key) = @actions.delete(key)

          # @return [Integer, nil] when the next block is due
          def next_at
            @keys.pop while (key = @keys.last) && !@actions.key?(key)
            key && (key >> (TIE_BITS + SEQUENCE_BITS))
          end

          # Runs the next block.
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

          # Latest first; most new blocks are the next to run.
          def insert(key)
            last = @keys.last
            return @keys << key if last.nil? || key < last
            @keys.insert(@keys.bsearch_index { |other| other < key }, key)
          end
        end
      end
    end
  end
end
