# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/flow"

module Penstock
  class SettlementTest < TestCase
    include TestSupport::Lanes

    def filled(count = 10, **options)
      lane(route(**options), committed: 0).tap { |lane| admit(lane, batch(0...count, from: 0)) }
    end

    def fail_at(lane, unit, offset, now: 0) = settle(lane, unit, error: RuntimeError.new("no"), blamed: offset, now: now)

    test "[exponential backoff] waits are 2, 4, 8, 16 and then 30 seconds" do
      lane = filled(1)
      now = 0
      waits = Array.new(6) do
        fail_at(lane, lane.next_unit, 0, now: now)
        due = lane.holds.next_due
        lane.holds.expire(due)
        wait = due - now
        now = due
        wait
      end
      assert_equal [2_000, 4_000, 8_000, 16_000, 30_000, 30_000], waits
    end

    test "after a failure the remaining records run one at a time until the blamed one has passed" do
      lane = filled(6)
      fail_at(lane, lane.next_unit, 3)
      lane.holds.expire(2_000)
      seen = []
      while (unit = lane.next_unit)
        seen << [offsets_of(unit), unit.attempt]
        settle(lane, unit)
      end
      assert_equal [[[0], 1], [[1], 1], [[2], 1], [[3], 2], [[4, 5], 1]], seen
      assert_equal 6, lane.committable_offset
    end

    test "where it isn't known which of several records has failed, none has an attempt more" do
      lane = filled(3)
      settle(lane, lane.next_unit, error: RuntimeError.new("written together"))
      lane.holds.expire(2_000)
      seen = Array.new(3) do
        unit = lane.next_unit
        settle(lane, unit)
        [offsets_of(unit), unit.attempt]
      end
      assert_equal [[[0], 1], [[1], 1], [[2], 1]], seen
    end

    test "[per-message mark on error] the retry starts at the first record that wasn't marked" do
      lane = filled(6)
      unit = lane.next_unit
      lane.marks.mark(2)
      fail_at(lane, unit, 3)
      assert_equal 3, lane.committable_offset
      lane.holds.expire(2_000)
      assert_equal [3], offsets_of(lane.next_unit)
    end

    test "records after the failed unit keep their order after it" do
      lane = filled(4, max_messages: 2)
      first, second = lane.next_unit, lane.next_unit
      lane.put_back([second])
      fail_at(lane, first, 1)
      lane.holds.expire(2_000)
      order = []
      while (unit = lane.next_unit)
        order.concat(offsets_of(unit))
        settle(lane, unit)
      end
      assert_equal [0, 1, 2, 3], order
    end

    test "attempts belong to a record and end with its success" do
      lane = filled(1)
      fail_at(lane, lane.next_unit, 0)
      lane.holds.expire(2_000)
      unit = lane.next_unit
      assert_equal 2, unit.attempt
      settle(lane, unit)
      assert_empty lane.attempts.to_h
    end

    # @return [Array] of the last event with that name
    def of_pause(ports, *keys) = ports.events.assoc("consumer.consuming.pause").last.values_at(*keys)

    test "a pause has the attempt during which it was requested, and a retry's back-off is remembered with its record" do
      lane = filled(2, max_messages: 1)
      failed = fail_at(lane, lane.next_unit, 0)
      assert_equal [false, 2_000, 1], of_pause(failed, :manual, :timeout, :attempt)
      assert_equal 2_000, lane.attempts.waited(0)
      lane.holds.expire(2_000)
      paused = settle(lane, lane.next_unit, flow: Consumer::Flow::Pause.new(0, 500), now: 2_000)
      assert_equal [true, 500, 2], of_pause(paused, :manual, :timeout, :attempt)
      requested = topic_pipeline(lane.topic).request(lane, Consumer::Flow::Pause.new(nil, 500), 100).last
      assert_equal [true, 1], requested.payload.values_at(:manual, :attempt)
    end

    test "[ScriptError retry] any error but a critical one is retried" do
      [NotImplementedError, SystemStackError, SecurityError].each do |klass|
        lane = filled(1)
        settle(lane, lane.next_unit, error: klass.new("no"))
        assert lane.holds.include?(:retry), "#{klass} wasn't retried"
      end
    end

    test "[critical error] a critical error stops the process once, moves no offset and holds the lane" do
      lane = filled(3)
      ports = settle(lane, lane.next_unit, error: NoMemoryError.new("no"))
      assert_equal 1, ports.stops.size
      assert_equal 0, lane.committable_offset
      assert lane.holds.include?(:critical)
      assert_empty lane.attempts.to_h
    end

    test "[SystemExit in consume] exit in a consumer stops the process and marks nothing" do
      lane = filled(3)
      ports = settle(lane, lane.next_unit, error: SystemExit.new(1))
      assert_instance_of SystemExit, ports.stops.first
      assert_equal 0, lane.committable_offset
    end

    test "an interrupted unit counts no attempt and keeps what it marked" do
      lane = filled(5)
      unit = lane.next_unit
      lane.marks.mark(1)
      settle(lane, unit, error: Interrupted.new)
      assert_equal [2, {}], [lane.committable_offset, lane.attempts.to_h]
      assert lane.holds.open?
    end

    test "the outcome of a lane that was lost changes nothing" do
      lane = filled(3)
      unit = lane.next_unit
      lane.end_ownership!
      settle(lane, unit)
      assert_equal 0, lane.committable_offset
    end

    test "[MOM] with manual offsets only marks move the ledger" do
      lane = filled(5, manual: true)
      unit = lane.next_unit
      settle(lane, unit)
      assert_equal 0, lane.committable_offset
      lane.marks.mark(3)
      lane.take_marks
      assert_equal 4, lane.committable_offset
    end

    test "[mark older offset] a mark below the base changes nothing" do
      lane = filled(5)
      settle(lane, lane.next_unit)
      assert lane.marks.mark(1)
      lane.take_marks
      assert_equal 5, lane.committable_offset
    end

    test "[mark after loss] a mark returns false once the partition is gone" do
      lane = filled(1)
      assert lane.marks.mark(0)
      lane.end_ownership!
      refute lane.marks.mark(0)
    end

    test "a mark beyond the taken records completes only taken records" do
      lane = filled(3)
      lane.marks.mark(99)
      lane.take_marks
      assert_equal 3, lane.committable_offset
    end

    test "a unit that ended early completes only what it marked, also marks that were made after its end; the rest is next" do
      lane = lane(committed: 0)
      admit(lane, batch(0..5, from: 0))
      unit = lane.next_unit
      lane.marks.mark(3)
      settle(lane, unit, flow: Consumer::Flow::MarkedOnly.new)
      assert_equal [4, [4, 5]], [lane.committable_offset, offsets_of(lane.next_unit)]
    end

    test "[pause manual] a unit that paused completes only what it marked and continues at the offset" do
      lane = filled(6)
      unit = lane.next_unit
      lane.marks.mark(1)
      settle(lane, unit, flow: Consumer::Flow::Pause.new(2, 500), now: 100)
      assert_equal 2, lane.committable_offset
      assert_equal({user: 600}, lane.holds.to_h)
      lane.holds.expire(600)
      assert_equal [2, 3, 4, 5], offsets_of(lane.next_unit)
    end

    test "[pause :consecutive] a pause without an offset continues after the unit, without a seek" do
      lane = filled(4, max_messages: 2)
      unit = lane.next_unit
      ports = settle(lane, unit, flow: Consumer::Flow::Pause.new(nil, nil))
      assert_empty ports.seeks
      assert_equal({user: nil}, lane.holds.to_h)
      lane.holds.release(:user)
      assert_equal [2, 3], offsets_of(lane.next_unit)
    end

    test "[pause :consecutive] records that the paused unit didn't mark are complete when the next unit succeeds" do
      lane = filled(4, max_messages: 2)
      settle(lane, lane.next_unit, flow: Consumer::Flow::Pause.new(nil, nil))
      assert_equal 0, lane.committable_offset
      lane.holds.release(:user)
      settle(lane, lane.next_unit)
      assert_equal 4, lane.committable_offset
    end

    test "[pause manual] a pause requested outside a unit continues at its offset too" do
      lane = filled(6)
      settle(lane, lane.next_unit)
      effects = topic_pipeline(lane.topic).request(lane, Consumer::Flow::Pause.new(2, 500), 100)
      assert_equal [[2, :user], [:user, 600]], effects.first(2).map(&:to_a)
      assert_equal [[:user, nil]],
        topic_pipeline(lane.topic).request(lane, Consumer::Flow::Pause.new(nil, nil), 100).first(1).map(&:to_a)
    end

    test "of several pauses the one that ends last counts, and a resume ends them all" do
      lane = filled(1)
      ask = ->(flow, now) { topic_pipeline.request(lane, flow, now).each { |effect| effect.perform(lane, Ports.new) } }
      ends = [[500, 0], [40, 100], [900, 100], [nil, 200], [40, 300]].map do |timeout_ms, now|
        ask.call(Consumer::Flow::Pause.new(nil, timeout_ms), now)
        lane.holds.to_h
      end
      assert_equal [500, 500, 1_000, nil, nil].map { |at| {user: at} }, ends
      ask.call(Consumer::Flow::Resume.new, 300)
      assert_predicate lane.holds, :open?
      ask.call(Consumer::Flow::Seek.new(0, true, 40), 300)
      assert_equal({user: 340}, lane.holds.to_h)
    end

    test "a transaction that couldn't include its offset isn't a failure: no attempt, no growing back-off" do
      [AssignmentLostError.new("gone"), TransactionDeferredError.new("the slot is taken")].each do |error|
        lane = filled(3)
        5.times do |round|
          settle(lane, lane.next_unit, error: error, now: round * 1_000)
          assert_equal [{retry: (round * 1_000) + 100}, {}], [lane.holds.to_h, lane.attempts.to_h]
          lane.holds.expire((round + 1) * 1_000)
        end
        assert_equal [0, 1, 2], offsets_of(lane.next_unit)
      end
    end

    test "marks of a unit with a backward seek count only below the target" do
      lane = filled(6)
      unit = lane.next_unit
      lane.marks.mark(5)
      ports = settle(lane, unit, flow: Consumer::Flow::Seek.new(2))
      assert_equal 2, lane.committable_offset
      assert_equal [[["orders", 0], 2, :user]], ports.seeks
    end

    test "[user beats system] a seek requested before the error still applies" do
      lane = filled(3)
      ports = settle(lane, lane.next_unit, error: RuntimeError.new("no"), flow: Consumer::Flow::Seek.new(0))
      assert_equal [[["orders", 0], 0, :user]], ports.seeks
      assert lane.holds.include?(:retry)
    end

    test "a seek with a pause waits at its target, after an error too, and is one pause in the events" do
      [[nil, {user: 600}], [IOError.new, {retry: 2_100, user: 600}]].each do |error, holds|
        lane = filled(6)
        lane.marks.mark(1)
        ports = settle(lane, lane.next_unit, error: error, flow: Consumer::Flow::Seek.new(2, true, 500), now: 100)
        assert_equal [[[["orders", 0], 2, :user]], holds], [ports.seeks, lane.holds.to_h]
        assert_equal [[2, 500]], ports.events.filter_map { |_name, payload|
          payload.values_at(:offset, :timeout) if payload[:manual]
        }
      end
    end

    test "the records that effects name and those completed are all records of the unit" do
      random = Random.new(20_261)
      200.times do
        count = random.rand(1..8)
        lane = filled(count, max_messages: random.rand(1..count))
        check_accounting(lane, count, random)
      end
    end

    private

    # For any sequence of failures and marks, each record is either complete or runs again, in order.
    def check_accounting(lane, count, random)
      now = 0
      done = []
      while (unit = next_unit(lane, now += 40_000))
        offsets = offsets_of(unit)
        if random.rand < 0.3
          marked = offsets.sample(random: random)
          lane.marks.mark(marked) if random.rand < 0.5
          fail_at(lane, unit, offsets.sample(random: random), now: now)
        else
          settle(lane, unit)
          done.concat(offsets)
        end
        assert_operator lane.committable_offset, :<=,
          (((0...count).to_a - done - (0...lane.marks.through.clamp(0, count)).to_a).min || count)
      end
      assert_equal count, lane.committable_offset
    end

    def next_unit(lane, now)
      lane.holds.expire(now)
      lane.next_unit
    end
  end
end
