# frozen_string_literal: true

require "test_helper"
require "penstock/testing/memory/run"
require "penstock/testing/memory/runner/limits"

module Penstock
  class MemoryRunnerLimitsTest < TestCase
    Journal = Struct.new(:run)
    Run = Struct.new(:calls)

    test "a run in which nothing but timers happen ends with an error that explains it" do
      assert_equal "consume_all doesn't end: 200000 events without a call of a consumer, after 0 calls. The in-memory Kafka " \
        "can't run this application to its end; run it with consume_all(within: 60)", idle_error
      assert_equal "travel was ended early: 200000 events without a call of a consumer, after 0 calls. Travel in several " \
        "shorter steps", idle_error(travel: true)
    end

    test "too many calls: the error names the last ones, and the limit that allows them" do
      {false => ["consume_all doesn't end", "A consumer that produces to a topic that it reads never ends; if that many are " \
        "right, allow them: consume_all(limit: 10)"],
       true => ["travel was ended early", "offset 1. If that many are right, allow them: travel(…, limit: 10)"]}
        .each do |travel, (beginning, ending)|
        message = calls_error(travel: travel)
        assert_includes message, "#{beginning}: more than 1 calls of consumers, the last are ticks/0 tick at offset 1"
        assert message.end_with?(ending), message
      end
    end

    private

    def idle_error(**options)
      limits = Testing::Memory::Runner::Limits.new(Journal.new(Run.new([])), calls: 10, raise_errors: false, **options)
      199_999.times { limits.count }
      assert_raises(Testing::EndlessRunError) { limits.count }.message
    end

    def calls_error(**options)
      run = Testing::Memory::Run.new(0)
      2.times { run.calls << Testing::Memory::Run::Call.new("shop", "ticks", 0, :tick, [1], 1, [], nil) }
      limits = Testing::Memory::Runner::Limits.new(Journal.new(run), calls: 1, raise_errors: false, **options)
      assert_raises(Testing::EndlessRunError) { limits.raise_error(run) }.message
    end
  end
end
