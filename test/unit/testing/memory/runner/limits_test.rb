# frozen_string_literal: true

require "test_helper"
require "penstock/testing/memory/runner/limits"

module Penstock
  class MemoryRunnerLimitsTest < TestCase
    Journal = Struct.new(:run)
    Run = Struct.new(:calls)

    test "a run in which nothing but timers happen ends with an error that explains it" do
      limits = Testing::Memory::Runner::Limits.new(Journal.new(Run.new([])), calls: 10, raise_errors: false)
      199_999.times { limits.count }

      assert_equal "consume_all doesn't end: 200000 events without a call of a consumer, after 0 calls. The in-memory Kafka " \
        "can't run this application to its end; run it with consume_all(within: 60)",
        assert_raises(Testing::EndlessRunError) { limits.count }.message
    end
  end
end
