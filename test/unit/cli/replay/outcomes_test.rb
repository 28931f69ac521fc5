# frozen_string_literal: true

require "test_helper"
require "penstock/cli/replay/outcomes"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"

module Penstock
  # Outcomes that are built from the entries of a dump.
  class ReplayOutcomesTest < TestCase
    Entry = Struct.new(:values)
    Unit = Struct.new(:messages, :rest)

    def unit
      rows = (5..8).map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p") }
      batch = Messages::MemoryBatch.new("orders", 0, rows)
      Unit.new(Messages.new(batch))
    end

    def built(error: nil, blamed: nil, finished: true, wish: nil, findings: nil, unit: self.unit)
      CLI::Replay::Outcomes.build(unit, Entry.new(["consume", 5, error, blamed, finished, 5, 30]), wish, findings)
    end

    test "an error has the recorded class if that is loaded, and is never created by its initializer" do
      assert_instance_of KeyError, built(error: "KeyError", blamed: 6).error
      %w[Nowhere::Here String Kernel ../x lower].each do |name|
        error = built(error: name, blamed: 6).error
        assert_equal [CLI::Replay::Outcomes::Unknown, name], [error.class, error.message]
      end
      assert_nil built.error
    end

    test "what user code requested becomes the same request again" do
      assert_equal Consumer::Flow::Pause.new(7, 500), built(wish: ["Pause", 7, 500]).flow
      assert_equal Consumer::Flow::Seek.new(:earliest), built(wish: %w[Seek earliest]).flow
      assert_equal Consumer::Flow::Seek.new(:latest, true, 500), built(wish: ["Seek", "latest", true, 500]).flow
      assert_equal %i[resume Unknown], [["resume"], ["Unknown", 1]].map { |wish| built(wish: wish).flow }, "of another version"
      assert_nil built.flow
    end

    test "a strategy's answer, its back-off and its letter are those of the recording; filters' results aren't" do
      found = built(error: "KeyError", blamed: 6, findings: ["failure", 6, "dispatch", "dead", 2, 300]).callback_results
      assert_equal [6, [:dispatch], 300], [found.offset, found.answer, found.backoff_ms]
      assert_equal [6, :dead, 2], [found.letter.record.offset, found.letter.kind, found.letter.attempt]
      plain = built(error: "KeyError", blamed: 6, findings: ["failure", 6, nil, nil, nil, 300]).callback_results
      assert_equal [nil, nil, 300], [plain.answer, plain.letter, plain.backoff_ms]
      assert_nil built(findings: ["prepared", 3, 1, 0]).callback_results
    end

    test "an `each` that was left early isn't finished, and one that stood at a record has its cursor there" do
      assert_equal [true, false, true], [true, false, nil].map { |finished| built(finished: finished).finished }
      stopped = unit
      assert built(error: "KeyError", blamed: 7, finished: "cursor", unit: stopped).finished
      assert_equal 7, stopped.messages.blamed_offset
    end
  end
end
