# frozen_string_literal: true

require "test_helper"
require "penstock/cli/replay/script"
require "penstock/cli/replay/words"

module Penstock
  # The line that `penstock replay` prints for each entry of a recording.
  class ReplayWordsTest < TestCase
    Entry = Struct.new(:kind, :at, :values)

    def line(kind, *values) = CLI::Replay::Words.call(Entry.new(kind, 1_000, values))

    test "what was taken, with the cursor before and after it" do
      assert_equal "took 5..9 (4 records), cursor 5 to 10", line(:take, 5, 10, 4, 5, 9, false)
      assert_equal "took nothing, up to 12, end of the partition", line(:take, 10, 12, 0, nil, nil, true)
    end

    test "a unit has its records, and what differs from a first attempt of `consume`" do
      assert_equal "handed out 5..9 (4)", line(:unit, "consume", 5, 9, 4, 1)
      assert_equal "handed out shutdown: 5..9 (4), attempt 3, key z", line(:unit, "shutdown", 5, 9, 4, 3, 35)
      assert_equal "handed out 5..9 (4), key k", line(:unit, "consume", 5, 9, 4, 1, "k")
    end

    test "an outcome has the record that failed, its error and its time" do
      assert_equal "unit 5 succeeded, 30 µs, base 10", line(:outcome, "consume", 5, nil, nil, true, 10, 30)
      assert_equal "unit 5 failed at 7 with KeyError, base 7", line(:outcome, "consume", 5, "KeyError", 7, true, 7)
      assert_equal "revoked 5 succeeded, each left early, base 5", line(:outcome, "revoked", 5, nil, nil, false, 5)
    end

    test "the beginning shows what is known from the commit" do
      assert_equal "assigned (epoch 2)", line(:assigned, 2)
      assert_equal "begins at the source's start", line(:adopted, nil, 0, 0)
      assert_equal "begins at 5, 2 runs complete beyond it, 1 records were being retried", line(:adopted, 5, 2, 1)
      assert_equal ["begins again at 5 (incarnation 2)", "begins again at the source's place (incarnation 2)"],
        [line(:incarnation, 2, 5), line(:incarnation, 2)]
      assert_equal "continues at 9", line(:went_on, 9)
    end

    test "requests of user code, marks and transactions name what they cover" do
      assert_equal "user code requests Pause 5", line(:wish, "Pause", 5, nil)
      assert_equal "user code requests Seek 5, outside of a unit", line(:asked, "Seek", 5)
      assert_equal ["marked through 7 in unit 5", "marked below 7"], [line(:mark, 7, 5), line(:mark, 7)]
      assert_equal ["a transaction is committed, with 7 in unit 5", "a transaction is committed, through 7"],
        [line(:carried, 7, 5, true), line(:carried, 7)]
      assert_equal "results of callbacks for 7: dispatch, 2", line(:advice, "failure", 7, "dispatch", nil, 2)
      assert_equal "the worker reached call 3 of the unit, the rest is handed out again", line(:reached, 3)
    end

    test "commits and letters show what was sent and what was answered" do
      assert_equal "commit of 7 sent (90 bytes of metadata, clean)", line(:commit, 7, 90, true)
      assert_equal ["commit of 7 acknowledged", "commit of 7 refused: 22"], [line(:committed, 7), line(:committed, 7, 22)]
      assert_equal "dead letter of 7 acknowledged", line(:letter, 7)
    end

    test "ends, waits and probes have a sentence each" do
      %i[probe suspected expired leave cut_off lost].each { |kind| assert_match(/ /, line(kind)) }
      assert_equal "called back 2 units: 5, 9", line(:back, 2, "consume", 5, 9)
    end

    test "an effect is indented, and a wait has a length instead of a time" do
      assert_equal "  Hold retry for 500 ms", line(:effect, "Hold", "retry", 1_500)
      assert_equal "  Seek 7, redelivery", line(:effect, "Seek", 7, "redelivery")
    end

    test "admitted records are a range, and an incomplete list is called one" do
      assert_match(/\Aadmitted 5\.\.7 \(3\)/, line(:let_in, *offsets(5, 6, 7)))
      assert_equal "filtered out more than is recorded", line(:dropped)
    end

    test "entries that only serve the replay have no line, unknown ones are shown as they are, and nothing controls the terminal" do
      CLI::Replay::Words::SILENT.each { |kind| assert_nil line(kind, 1, 2) }
      assert_equal "novelty 1 2", line(:novelty, 1, 2)
      refute_includes line(:wish, "\e[2J"), "\e"
    end

    def offsets(*list) = Processing::Recording::Offsets.rows(list).first
  end
end
