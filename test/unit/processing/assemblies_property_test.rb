# frozen_string_literal: true

require "test_helper"
require "support/assembled"
require "support/assembled/combinations"

module Penstock
  # Combinations of what routes may say about records, each played with outcomes of a seed; all of them in test/sim.
  # PENSTOCK_PROPERTY_SECONDS plays fresh seeds for so long; PENSTOCK_PROPERTY_SEED plays one.
  class AssembliesPropertyTest < TestCase
    COUNT = 250

    def play(seed) = TestSupport::Assembled.play(seed)

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
