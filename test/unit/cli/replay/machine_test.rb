# frozen_string_literal: true

require "test_helper"
require "support/recorded_lane"
require "penstock/cli/replay/machine"
require "penstock/cli/replay/words"
require "penstock/routing/features/parallel"

module Penstock
  class ReplayMachineTest < TestCase
    Failure = Class.new(StandardError)
    BY_KEY = {parallel: Routing::Parallel.new(:key, 4, nil, :rolling, :current)}.freeze

    def recorded(**route)
      {features: {max_messages: 100, manual_offset_management: false,
                  pause: Routing::Pause.new(1_000, 30_000, true), **route}, pause: Routing::Pause.new(1_000, 30_000, true)}
    end

    # A unit of four fails at its third record; the healthy ones run alone, the poisoned one twice.
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

    test "what was decided about a lane in order is decided again" do
      machine = replay(whole.recordings)
      assert_nil machine.difference
      assert_operator machine.compared, :>=, 12
    end

    test "what was decided about keys side by side is decided again, the failed one parked" do
      machine = replay(by_key.recordings)
      assert_nil machine.difference
      assert_operator machine.compared, :>=, 12
    end

    test "the first decision that differs is told, with what was recorded and what is decided now" do
      machine = replay(whole.recordings) { |entry| entry[3] += 1 if entry[0] == "effect" && entry[2] == "Isolate" }
      found = machine.difference
      assert_equal :outcome, found.entry.kind
      assert_includes found.recorded, ["Isolate", 3]
      assert_includes found.replayed, ["Isolate", 2]
    end

    test "a unit that would be another one is a difference" do
      found = replay(by_key.recordings) { |entry| entry[3] += 1 if entry[0] == "unit" && entry[3] == 2 }.difference
      assert_match(/next unit/, found.what)
    end

    test "a ring that went round is replayed from a place within it" do
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

    test "what is complete by the commit of an earlier owner doesn't run again, in the replay neither" do
      recorded = TestSupport::RecordedLane.new(committed: 2, completed: [[4, 6]], **recorded(**BY_KEY))
      recorded.take(2...8, key: :to_s.to_proc)
      while (unit = recorded.hand_out)
        recorded.settle(unit)
      end
      machine = replay(recorded.recordings)
      assert_nil machine.difference
      assert_equal([2, 3, 6, 7], recorded.recordings.first["entries"].select { |one| one[0] == "unit" }.map { |one| one[3] })
    end

    test "a recording holds neither payloads nor keys nor what errors say" do
      text = JSON.generate([whole.recordings, by_key.recordings])
      refute_match(/secret|customer/, text)
    end

    test "every kind of entry has words" do
      lines = CLI::Replay::Machine.new(by_key.recordings.first).script.entries.filter_map { |entry| CLI::Replay::Words.call(entry) }
      assert_match(/handed out 1\.\.7 \(3\), key/, lines.join("\n"))
      assert_match(/failed at 4 with Penstock::ReplayMachineTest::Failure/, lines.join("\n"))
    end
  end
end
