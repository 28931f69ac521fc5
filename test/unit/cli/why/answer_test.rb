# frozen_string_literal: true

require "test_helper"
require "support/recorded_lane"
require "tempfile"
require "penstock/cli/why/answer"
require "penstock/cli/why/recorded"
require "penstock/native/envelope"

module Penstock
  class WhyAnswerTest < TestCase
    Answer = CLI::Why::Answer

    def answer(offset, committed: 10, low: 0, high: 100, exists: true, dead: nil, stable: nil, **said)
      text = Native::Envelope.encode(base: committed || 0, topic: "orders", **said)
      decoded = committed && Native::Envelope.decode(text, base: committed, topic: "orders")
      Answer.new(Answer::Facts.new(group: "shop", topic: "orders", partition: 3, offset: offset, low: low, high: high,
        stable: stable, committed: committed, decoded: decoded, exists: exists, dead: dead))
    end

    test "a record below the commit, or listed beyond it, is complete" do
      assert_equal :complete, answer(9).state
      assert_equal :complete_by_map, answer(12, completed: [[12, 14]]).state
      assert_equal :complete, answer(2, low: 5).state
    end

    test "of a complete record the answer names the topic it is in if it was dead-lettered" do
      [answer(9, dead: "orders.dead"), answer(12, completed: [[12, 14]], dead: "orders.dead")].each do |known|
        assert_match(/`penstock dead list orders\.dead --topic orders --all` lists such records/, known.lines.join("\n"))
      end
      refute_match(/dead/, answer(9).lines.join("\n"))
      refute_match(/dead/, answer(20, dead: "orders.dead").lines.join("\n"))
    end

    test "a record before complete or tried ones is incomplete, with its attempts and crashes" do
      known = answer(11, completed: [[12, 14]], attempts: {11 => 2}, crashes: {11 => 1})
      assert_equal :incomplete, known.state
      assert_match(/failed 2 times.*died once while it was running alone/m, known.lines.join("\n"))
      assert_equal :incomplete, answer(10, completed: [[12, 14]]).state
    end

    test "of a record after all known ones only the distance is known" do
      assert_equal :untouched, answer(20, completed: [[12, 14]]).state
      assert_match(/committed 10, 10 before it/, answer(20).lines.first)
      assert_match(/which is this record, the next one/, answer(10).lines.first)
    end

    test "a record that isn't in the log is reported: not written yet, deleted by retention, a gap" do
      assert_equal :not_there, answer(100).state
      assert_equal :gone, answer(12, low: 50).state
      assert_equal :gap, answer(12, exists: false).state
      assert_equal :nothing_committed, answer(12, committed: nil).state
    end

    test "a record from an open transaction on waits for its end, whether it belongs to it or not" do
      [answer(20, stable: 20, exists: nil), answer(21, stable: 20, exists: nil),
        answer(20, stable: 20, exists: nil, committed: nil)].each do |found|
        assert_equal :waits_for_transaction, found.state
        assert_match(/waits for the end of a transaction, which began at offset 20\./, found.lines[0])
        assert_match(/transaction\.timeout\.ms.*kafka-transactions\.sh/, found.lines[1])
      end
      assert_equal 20, answer(21, stable: 20).to_h[:last_stable]
      # Consumers with `read_uncommitted` have passed it.
      assert_equal :complete, answer(20, stable: 20, exists: nil, committed: 30).state
      assert_equal :complete_by_map, answer(22, stable: 20, exists: nil, completed: [[21, 25]]).state
    end

    test "of a record before an open transaction the details name the transaction" do
      assert_equal :untouched, answer(15, stable: 20).state
      assert_includes answer(15, stable: 20).lines, "A transaction is open; records from offset 20 on wait for its end."
      refute_match(/transaction/, answer(15, stable: 100).lines.join)
    end

    test "what isn't in the log for consumers may have been aborted" do
      assert_match(/belongs to a transaction that was aborted/, answer(12, exists: false).lines.first)
    end

    test "the first three lines are what became of the record, what follows, and who has the partition" do
      facts = answer(11, completed: [[12, 14]], attempts: {11 => 2}).facts
      facts.owner = "shop on h (x)"
      lines = Answer.new(facts).lines
      assert_equal ["orders/3 offset 11 is not complete, though later records are: it is running, being retried, or waits.",
        "It is delivered until it is complete. `penstock why` with --dump shows what it waits for.",
        "The partition belongs to shop on h (x).", "", "It has failed 2 times; a commit remembers that for the next owner."],
        lines.first(5)
    end

    test "each answer is followed by what happens to the record next" do
      again, first = /isn't delivered to the group again/, /ask about offset 10, the first that isn't complete/
      {answer(9) => again, answer(12, completed: [[12, 14]]) => again, answer(20) => first,
       answer(10) => /It runs at this moment, or it is the next/, answer(12, low: 50) => /retention/,
       answer(100) => /Nothing can have consumed it/, answer(12, exists: false) => /nothing to deliver/,
       answer(12, committed: nil) => /Check the group's name/}.each { |one, following| assert_match(following, one.lines[1]) }
    end

    test "ignored metadata is reported with the reason" do
      text = Native::Envelope.encode(base: 10, topic: "other", completed: [[12, 14]])
      facts = answer(12).facts
      facts.decoded = Native::Envelope.decode(text, base: 10, topic: "orders")
      found = Answer.new(facts)
      assert_equal :untouched, found.state
      assert_match(/Warning: .*belongs to another topic/, found.lines.join("\n"))
    end

    test "a member's name is one line without terminal control sequences" do
      facts = answer(12).facts
      facts.owner = "a\e[2J\nforged on h (x)"

      assert_includes Answer.new(facts).lines, 'The partition belongs to a\e[2J\nforged on h (x).'
    end

    test "the lag and how the previous owner ended are reported" do
      assert_match(/lag 90\. It is the last commit of a clean stop\./, answer(12, clean: true).lines.join("\n"))
      assert_equal 90, answer(12).to_h[:lag]
    end

    test "a dump adds the flight recorder's entries about the record" do
      Tempfile.create("flight") do |file|
        recorded = TestSupport::RecordedLane.new
        recorded.take(0...4)
        recorded.settle(recorded.hand_out, error: RuntimeError.new, blamed: 2)
        file.write(JSON.generate("penstock_flight" => 1, "wall_ms" => 0, "monotonic_ms" => 0, "lanes" => recorded.recordings))
        file.flush
        lines = CLI::Why::Recorded.lines(file.path, "orders", 3, 2)
        assert_match(/took 0\.\.3.*handed out 0\.\.3.*failed at 2 with RuntimeError/m, lines.join("\n"))
        assert_match(/nothing about offset 77/, CLI::Why::Recorded.lines(file.path, "orders", 3, 77).join)
        assert_match(%r{doesn't have orders/9}, CLI::Why::Recorded.lines(file.path, "orders", 9, 1).join)
      end
    end

    test "if a unit of several calls ended before all had begun, a dump reports how far it came" do
      Tempfile.create("flight") do |file|
        recorded = TestSupport::RecordedLane.new(max_messages: 2)
        recorded.take(0...40)
        3.times { recorded.settle(recorded.hand_out, quick: true) }
        recorded.settle(recorded.hand_out, quick: true, calls: 3)
        file.write(JSON.generate("penstock_flight" => 1, "wall_ms" => 0, "monotonic_ms" => 0, "lanes" => recorded.recordings))
        file.flush
        lines = CLI::Why::Recorded.lines(file.path, "orders", 3, 28)
        assert_match(/handed out 14\.\.29.*call 3 of the unit.*unit 14 /m, lines.join("\n"))
        refute_match(/call 3/, CLI::Why::Recorded.lines(file.path, "orders", 3, 13).join)
      end
    end
  end
end
