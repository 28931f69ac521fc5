# frozen_string_literal: true

require "test_helper"
require "support/assembled"
require "support/assembled/combinations"

module Penstock
  # Plays combinations of route settings, each with the outcomes of a seed; test/sim has all of them. PENSTOCK_PROPERTY_SECONDS
  # plays fresh seeds for that many seconds; PENSTOCK_PROPERTY_SEED plays one.
  class AssembliesPropertyTest < TestCase
    COUNT = 250

    def play(seed) = TestSupport::Assembled.play(seed)

    test "with any combination of route settings no unprocessed record is complete, and none is lost, doubled or held forever" do
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
