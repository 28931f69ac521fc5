# frozen_string_literal: true

require "test_helper"
require "support/recorded_lane"
require "penstock/cli/replay/machine"
require "penstock/cli/replay/words"
require "penstock/routing/features/expire_in"
require "penstock/routing/features/parallel"

module Penstock
  class ReplayMachineTest < TestCase
    Failure = Class.new(StandardError)
    Commit = Struct.new(:offset, :metadata)
    BY_KEY = {parallel: Routing::Parallel.new(:key, 4, nil, :rolling, :current)}.freeze

    def recorded(max_messages: 100, **route)
      {max_messages: max_messages,
       features: {max_messages: max_messages, manual_offset_management: false,
                  pause: Routing::Pause.new(1_000, 30_000, true), **route}, pause: Routing::Pause.new(1_000, 30_000, true)}
    end

    # A unit of four records fails at its third; the healthy ones run alone, the poisoned one twice.
    def whole
      TestSupport::RecordedLane.new(**recorded).tap do |recorded|
        recorded.take(0...4)
        recorded.settle(recorded.hand_out, error: Failure.new("secret"), blamed: 2)
        recorded.wait(2_000)
        2.times { recorded.settle(recorded.hand_out) }
        recorded.settle(recorded.hand_out, error: Failure.new("secret"), blamed: 2)
        recorded.wait(4_000)
        2.times { recorded.settle(recorded.hand_out) }
      end
    end

    def by_key
      TestSupport::RecordedLane.new(**recorded(**BY_KEY)).tap do |recorded|
        recorded.take(0...9, key: ->(offset) { "customer #{offset % 3}" })
        units = Array.new(3) { recorded.hand_out }
        recorded.settle(units[1], error: Failure.new, blamed: 4)
        recorded.settle(units[2])
        recorded.settle(units[0])
        recorded.wait(2_000)
        while (unit = recorded.hand_out)
          recorded.settle(unit)
        end
      end
    end

    def replay(recordings, &change)
      recording = recordings.first
      recording["entries"].each(&change) if change
      CLI::Replay::Machine.new(recording).run
    end

    test "decisions about a lane in order are made again" do
      machine = replay(whole.recordings)
      assert_nil machine.difference
      assert_operator machine.compared, :>=, 12
    end

    test "decisions about keys in parallel are made again, with the failed key parked" do
      machine = replay(by_key.recordings)
      assert_nil machine.difference
      assert_operator machine.compared, :>=, 12
    end

    test "the first different decision is reported, with the recorded and the new one" do
      machine = replay(whole.recordings) { |entry| entry[3] += 1 if entry[0] == "effect" && entry[2] == "Isolate" }
      found = machine.difference
      assert_equal :outcome, found.entry.kind
      assert_includes found.recorded, ["Isolate", 3]
      assert_includes found.replayed, ["Isolate", 2]
    end

    test "a different unit is a difference" do
      found = replay(by_key.recordings) { |entry| entry[3] += 1 if entry[0] == "unit" && entry[3] == 2 }.difference
      assert_match(/next unit/, found.what)
    end

    test "a ring that wrapped around is replayed from an entry within it" do
      recorded = TestSupport::RecordedLane.new(**recorded())
      300.times do |turn|
        recorded.take((turn * 3)...(turn * 3 + 3))
        recorded.settle(recorded.hand_out)
      end
      machine = replay(recorded.recordings)
      assert_operator machine.began.number, :>, 0
      assert_nil machine.difference
      assert_operator machine.compared, :>, 100
    end

    # Units of several calls with two records each.
    def stretched(turns)
      TestSupport::RecordedLane.new(**recorded(max_messages: 2)).tap do |recorded|
        recorded.take(0...(turns * 40))
        3.times { recorded.settle(recorded.hand_out, quick: true) }
        turns.times { yield recorded, recorded.hand_out }
      end
    end

    test "a unit of several calls is decided again, also if it ended before all of them had begun" do
      ends = [{}, {calls: 3}, {calls: 2, flow: Consumer::Flow::Pause.new(nil, 5)}, {}]
      recordings = stretched(4) do |recorded, unit|
        recorded.settle(unit, quick: true, **ends.shift)
        recorded.wait(20)
      end.recordings
      machine = replay(recordings)
      assert_nil machine.difference
      assert_equal [3, 2], machine.script.entries.select { |entry| entry.kind == :reached }.map { |entry| entry[0] }
      units = machine.script.entries.select { |entry| entry.kind == :unit }.map { |entry| entry.values[1, 2] }
      assert_equal [[14, 29], [30, 45], [36, 45], [40, 45]], units.drop(3)
    end

    test "a unit of several calls that failed in one of them is decided again" do
      recorded = stretched(1) { |lane, unit| lane.settle(unit, calls: 4, error: Failure.new, blamed: 21, quick: true) }
      recorded.wait(2_000)
      2.times { recorded.settle(recorded.hand_out) }
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      units = machine.script.entries.select { |entry| entry.kind == :unit }.map { |entry| entry.values[1, 2] }
      assert_equal [[14, 29], [20, 20], [21, 21]], units.last(3)
    end

    test "a wrapped ring of units of several calls is replayed from an entry within it" do
      recorded = TestSupport::RecordedLane.new(**recorded(max_messages: 2))
      200.times do |turn|
        recorded.take((turn * 40)...(turn * 40 + 40))
        recorded.settle(recorded.hand_out, quick: true, **((turn % 5).zero? ? {calls: 2} : {})) while recorded.lane.waiting?
      end
      machine = replay(recorded.recordings)
      assert_operator machine.began.number, :>, 0
      assert_nil machine.difference
      assert_operator machine.compared, :>, 50
    end

    test "records that an earlier owner's commit lists as complete don't run again, also in the replay" do
      recorded = TestSupport::RecordedLane.new(committed: 2, completed: [[4, 6]], **recorded(**BY_KEY))
      recorded.take(2...8, key: :to_s.to_proc)
      while (unit = recorded.hand_out)
        recorded.settle(unit)
      end
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_equal([2, 3, 6, 7], recorded.recordings.first["entries"].select { |one| one[0] == "unit" }.map { |one| one[3] })
    end

    test "a take in which the log goes backwards is decided again, and so are the units called back because of it" do
      recorded = TestSupport::RecordedLane.new(**recorded(max_messages: 2))
      recorded.take(0...4)
      waiting = Array.new(2) { recorded.hand_out }
      recorded.take([4, 5, 0, 1, 2])
      recorded.call_back(waiting)
      3.times { (unit = recorded.hand_out) && recorded.settle(unit) }
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_equal [0, 2, 0, 2], machine.script.entries.select { |entry| entry.kind == :unit }.map { |entry| entry[1] }
    end

    test "takes in which retention had deleted records are decided again: before a record, between two, before the log's end" do
      [[[4, 5], nil], [[0, 1, 4, 5], nil], [[0, 1], 4], [[], 4]].each do |offsets, eof|
        recorded = TestSupport::RecordedLane.new(**recorded())
        recorded.lane.takes.start.confirm
        recorded.take(offsets, eof: eof, low: 4)
        machine = replay(recorded.recordings)
        assert_nil machine.difference
        assert_includes recorded.recordings.first["entries"].flatten, "consumer.offset_reset"
      end
    end

    test "a log that went backwards and has markers at its end lost nothing to retention in the replay" do
      recorded = TestSupport::RecordedLane.new(**recorded())
      recorded.take(0...4)
      recorded.take([0], eof: 2)
      machine = replay(recorded.recordings)
      assert_nil machine.difference
    end

    {"in order" => {}, "by key" => BY_KEY}.each do |way, features|
      test "marks that a process of a pool reports after the shutdown timeout count in the replay, too: #{way}" do
        recorded = TestSupport::RecordedLane.new(**recorded(manual_offset_management: true, **features), manual: true)
        recorded.take(0...3, key: ->(_offset) { "customer" })
        unit = recorded.hand_out
        recorded.lane.cut_off!
        (unit.marks || recorded.lane.marks).reported(0)
        recorded.settle(unit)
        recorded.lane.recording.commit(Commit.new(recorded.lane.committable_offset), true)
        assert_equal 1, recorded.lane.committable_offset
        assert_nil replay(recorded.recordings).difference
      end
    end

    test "a unit of a deleted log comes back while another one has the same name" do
      recorded = TestSupport::RecordedLane.new(**recorded(max_messages: 2))
      recorded.take(0...2)
      old = recorded.hand_out
      recorded.take([0, 1, 2])
      young = recorded.hand_out
      recorded.settle(old)
      recorded.settle(young, error: Failure.new, blamed: 1)
      recorded.wait(2_000)
      recorded.settle(recorded.hand_out)
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_nil machine.left_out
    end

    test "the record that is tried while a breaker is open is a probe also in the replay" do
      recorded = TestSupport::RecordedLane.new(**recorded())
      recorded.take(0...4)
      recorded.settle(recorded.probe)
      recorded.settle(recorded.hand_out)
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      units = machine.script.entries.select { |entry| entry.kind == :unit }
      assert_equal([[0, 0, 1], [1, 3, 3]], units.map { |entry| entry.values[1, 3] })
    end

    test "the number of running units depends on the workers: a width that has changed is no difference" do
      recorded = by_key.recordings
      recorded.first["width"] = 1
      assert_nil replay(recorded).difference
    end

    test "records that run one at a time because they may have killed the process aren't decided again, and this is reported" do
      recorded = TestSupport::RecordedLane.new(**recorded())
      recorded.take(0...4)
      recorded.settle(recorded.hand_out)
      recorded.take(4...8)
      2.times { recorded.lane.recording.suspected }
      recorded.lane.division.isolate(nil, 5)
      recorded.settle(recorded.hand_out)
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_match(/killed/, machine.left_out)
      assert_operator machine.compared, :>, 0
      assert_equal(1, machine.script.entries.count { |entry| entry.kind == :suspected })
    end

    test "records admitted in parts are admitted at the same times in the replay" do
      recorded = TestSupport::RecordedLane.new(**recorded(throttle: Routing::Throttle.new(2, 1_000)))
      recorded.take(0...5)
      3.times do
        recorded.settle(recorded.hand_out)
        recorded.wait(1_000)
      end
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_nil machine.left_out
      assert_equal [0, 2, 4], machine.script.entries.select { |entry| entry.kind == :unit }.map { |entry| entry[1] }
      assert_includes machine.script.entries.filter_map { |entry| CLI::Replay::Words.call(entry) }, "admitted 2..3 (2)"
    end

    test "if a dump doesn't contain the admitted records, nothing is decided again, and this is reported" do
      recording = whole.recordings.first
      recording["route"]["segment"] = true
      machine = CLI::Replay::Machine.new(recording).run
      assert_match(/the admission of records depends/, machine.left_out)
      assert_equal 0, machine.compared
    end

    test "records that expire after a take aren't decided again, and this is reported" do
      recorded = TestSupport::RecordedLane.new(**recorded(expire_in: Routing::ExpireIn.new(1_000)))
      recorded.take(0...5)
      assert_match(/the admission of records depends/, replay(recorded.recordings).left_out)
    end

    [{}, BY_KEY].each do |route|
      test "batches that gather, by number and by time, gather in the replay too: #{route.keys}" do
        recorded = TestSupport::RecordedLane.new(**recorded(batch: Routing::Batch.new(3, 500), **route))
        one = ->(_offset) { "customer" }
        recorded.take(0...2, key: one)
        assert_nil recorded.hand_out
        recorded.take(2...4, key: one)
        recorded.settle(recorded.hand_out)
        recorded.take(4...5, key: one)
        recorded.wait(500)
        recorded.settle(recorded.hand_out)
        machine = replay(recorded.recordings)
        assert_nil machine.difference
        assert_equal [4, 1], machine.script.entries.select { |entry| entry.kind == :unit }.map { |entry| entry[3] }
      end
    end

    test "gathered records without a unit have no key in a dump: later decisions aren't made again, and this is reported" do
      recorded = TestSupport::RecordedLane.new(**recorded(batch: Routing::Batch.new(3, 500), **BY_KEY))
      recorded.take(0...3, key: :to_s.to_proc)
      recorded.settle(recorded.hand_out)
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_match(/key/, machine.left_out)
    end

    test "records that user code collapses run one at a time in the replay, too, and so do those waiting after them" do
      recorded = TestSupport::RecordedLane.new(**recorded(**BY_KEY))
      recorded.take(0...6, key: ->(offset) { "customer #{offset % 2}" })
      running, waiting = recorded.hand_out, recorded.hand_out
      recorded.ask(Consumer::Flow::Collapse.new(3), calling_back: [waiting])
      recorded.settle(running, error: Failure.new, blamed: 0)
      recorded.wait(2_000)
      while (unit = recorded.hand_out)
        recorded.settle(unit)
      end
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_equal [0, 1, 0, 1, 2, 3, 4, 5], machine.script.entries.select { |one| one.kind == :unit }.map { |one| one[1] }
    end

    test "a recording contains neither payloads nor keys nor error messages" do
      text = JSON.generate([whole.recordings, by_key.recordings])
      refute_match(/secret|customer/, text)
    end

    test "every kind of entry has a text" do
      lines = CLI::Replay::Machine.new(by_key.recordings.first).script.entries.filter_map { |entry| CLI::Replay::Words.call(entry) }
      assert_match(/handed out 1\.\.7 \(3\), key/, lines.join("\n"))
      assert_match(/failed at 4 with Penstock::ReplayMachineTest::Failure/, lines.join("\n"))
    end
  end
end
