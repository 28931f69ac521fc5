# frozen_string_literal: true

require "test_helper"
require "support/assembled"

module Penstock
  # All combinations of what routes may say about records, each played with outcomes of a seed. PENSTOCK_PROPERTY_SECONDS plays
  # fresh seeds for so long; PENSTOCK_PROPERTY_SEED plays one.
  class AssembliesPropertyTest < TestCase
    FLAGS = %i[manual isolate delay expire throttle filter dead_letters breaker batch eofed].freeze
    COMBINATIONS = %i[none key message].product(*FLAGS.map { [false, true] }).map do |parallel, *flags|
      {parallel: parallel, **FLAGS.zip(flags).to_h}.freeze
    end.freeze
    COUNT = 250

    # The seed names the combination too.
    def play(seed) = TestSupport::Assembled.new(COMBINATIONS[(seed * 997) % COMBINATIONS.size], seed).run

    test "whatever a route says together: nothing unprocessed is complete, nothing is lost, doubled or held for ever" do
      only = ENV["PENSTOCK_PROPERTY_SEED"]
      next play(Integer(only)) && pass if only
      seconds = Integer(ENV.fetch("PENSTOCK_PROPERTY_SECONDS", "0"))
      return campaign(seconds) if seconds.positive?
      (1..COUNT).each { |seed| play(seed) }

      pass
    end

    def campaign(seconds)
      ends = Clock::SYSTEM.monotonic_ms + seconds * 1_000
      seed = rand(1 << 32)
      failures = []
      while Clock::SYSTEM.monotonic_ms < ends && failures.size < 20
        begin
          play(seed += 1)
        rescue => error
          failures << "#{seed}: #{error.class} #{error.message[0, 400]}"
        end
      end
      assert_empty failures
    end
  end
end
