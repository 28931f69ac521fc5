# frozen_string_literal: true

require "test_helper"
require "penstock/routing/features/parallel"
require "support/lanes"
require "penstock/execution/run_queue"
require "penstock/runtime/loop/work/effect_context"

module Penstock
  class EffectContextTest < TestCase
    include TestSupport::Lanes

    # A driver that only records seeks.
    class Driver
      attr_reader :seeks
      attr_accessor :high

      def initialize
        @seeks = []
        @high = -1001
      end

      def seek(_source, offset) = @seeks << offset
      def cached_watermarks(_topic, _partition) = [0, @high]
    end

    Session = Struct.new(:driver, :group, :events, :lane_of, :unheard) do
      def lane(key) = (lane_of if lane_of&.key == key)
      def subscribed?(_name) = !unheard
      def emit(name, payload) = events << [name, payload]
      def now = 700
    end

    Quarantine = Struct.new(:max_crashes)

    # Records the lanes to commit.
    class Committer
      attr_reader :wanted, :lanes

      def initialize
        @wanted = []
        @lanes = []
      end

      def adopted(lane) = @lanes << lane
      def request_commit(lanes) = @wanted.concat(lanes)
      def schedule_commit = nil
    end

    def setup
      @driver = Driver.new
      @committer = Committer.new
      @session = Session.new(@driver, :group, [])
      @ports = Runtime::EffectContext.new(@session, @committer, nil, ->(_error) {})
      @lane = lane(route(max_messages: 3), committed: 0)
      admit(@lane, batch(0..5, from: 0))
      @unit = @lane.next_unit
    end

    test "[seek same position] a seek to the lane's own position keeps prefetched records" do
      @ports.seek(@lane, 3, :user)
      assert_empty @driver.seeks
      assert_equal [3, 0], [@lane.committable_offset, @lane.incarnation]
      assert_equal [3, 4, 5], offsets_of(@lane.next_unit)
    end

    test "a seek before the source has begun is made again with its first result, and confirms where the lane begins" do
      lane = lane(committed: 30)
      assert lane.commit_state.undecided?
      @ports.seek(lane, 20, :user)
      assert_equal [[20], 20, [lane]], [@driver.seeks, lane.committable_offset, @committer.lanes]
      refute lane.commit_state.undecided?
      ports = admit(lane, batch(30..32, from: 20))
      assert_equal [[["orders", 0], 20, :newcomer]], ports.seeks
      admit(lane, batch(20..22, from: 20))
      assert_equal [20, 21, 22], offsets_of(lane.next_unit)
    end

    test "a seek to where an unconfirmed lane is moves the source there" do
      @ports.seek(lane = lane(committed: 30), 30, :user)
      assert_equal [[30], 1], [@driver.seeks, lane.incarnation]
    end

    test "a lane counts as adopted when its source has begun at its offset" do
      lane = lane(committed: 30)
      @ports.confirming(lane) { lane.takes.start.judge(30, 30, nil) }
      assert_equal [lane], @committer.lanes
      @ports.confirming(lane) { :again }
      assert_equal [lane], @committer.lanes
    end

    test "any other seek begins a new incarnation, moves the source and commits at once" do
      @ports.seek(@lane, 1, :user)
      assert_equal [[1], 1, 1, [@lane]], [@driver.seeks, @lane.incarnation, @lane.committable_offset, @committer.wanted]
      assert_nil @lane.next_unit
    end

    Instances = Struct.new(:used)
    Instance = Struct.new(:consumer)

    # @return [Array] payload of the seek's event
    def sought(target, instances)
      assign(@lane, slot: Execution::RunQueue::Slot.new("orders", Instances.new(instances)))
      @session.lane_of = @lane
      @ports.seek(@lane, target, :user)
      @session.events.last.last
    end

    test "the event of a seek has the lane's consumer, and an object with the readers of a message" do
      seek = sought(1, [Instance.new(:mine), Instance.new(:other)])
      assert_equal [:mine, "orders", 0, 1], [seek[:caller], *seek[:message].to_a]
      assert_equal :earliest, sought(:earliest, [])[:message].offset
      refute sought(1, []).key?(:caller)
      @session.unheard = true
      refute sought(1, [Instance.new(:mine)]).key?(:caller)
    end

    test "the end is that of the last fetch" do
      @driver.high = 40
      @ports.seek(@lane, :latest, :user)
      assert_equal [[40], 40], [@driver.seeks, @lane.committable_offset]
    end

    test "an unknown end is left to librdkafka" do
      @ports.seek(@lane, :latest, :user)
      assert_equal [-1], @driver.seeks
      assert_nil @lane.committable_offset
    end

    # Of eight records an earlier owner has completed two, and tried one of the others without success.
    def taken_over(topic)
      @lane = lane(topic)
      @lane.adopt(0, [[3, 4], [6, 7]])
      @lane.retry_adopted({5 => 2}, 400)
      admit(@lane, batch(0..4, from: 0), now: 500)
      @lane.holds.expire(500)
      @lane.drop([0, 1])
    end

    def consumed(unit)
      settle(@lane, unit)
      [offsets_of(unit), unit.attempt]
    end

    test "after a filter moves forward no record runs that an earlier owner has completed, and failures still count" do
      taken_over(route)
      @ports.seek(@lane, 2, :filter)
      assert_equal [[2], 1, 2, [@lane]], [@driver.seeks, @lane.incarnation, @lane.committable_offset, @committer.wanted]
      assert_equal [[[3, 4], [6, 7]], {5 => 2}, {retry: 700}], [@lane.ledger.ranges, @lane.attempts.to_h, @lane.holds.to_h]
      assert @lane.commit_state.uncommitted?
      @lane.holds.expire(700)
      admit(@lane, batch(2..8, from: 2), now: 700)
      assert_equal [[[2], 1], [[4], 1], [[5], 3], [[7, 8], 1]], Array.new(4) { consumed(@lane.next_unit) }
    end

    test "keys side by side: the back-off of a failed record is neither longer nor shorter after a filter moves forward" do
      taken_over(route(features: {parallel: Routing::Parallel.new(:message, 3, nil, :rolling, :current)}))
      @ports.seek(@lane, 2, :filter)
      assert_equal [[[3, 4], [6, 7]], {5 => 2}, 400, {}],
        [@lane.ledger.ranges, @lane.attempts.to_h, @lane.attempts.adopted_until, @lane.holds.to_h]
    end

    test "a filter that moves back requests everything from there on, as a user's seek does" do
      taken_over(route)
      @ports.seek(@lane, 1, :filter)
      assert_equal [1, [], {}], [@lane.committable_offset, @lane.ledger.ranges, @lane.attempts.to_h]
    end

    test "with manual offsets a filter's seek always counts as moving back, even past records that aren't marked" do
      taken_over(route(manual: true))
      @ports.seek(@lane, 2, :filter)
      assert_equal [2, [], {}], [@lane.committable_offset, @lane.ledger.ranges, @lane.attempts.to_h]
    end

    test "after a filter moves forward suspects stay suspects; moving back clears them" do
      {2 => [2, {5 => 2}, true], 1 => [0, {}, false]}.each do |offset, expected|
        taken_over(route)
        suspects = Processing::Failure::CrashCounts.new(Quarantine.new(3))
        equip(@lane, suspects: suspects)
        suspects.adopt(unclean: 1, crashes: {5 => 2}, clean: false)
        @ports.seek(@lane, offset, :filter)
        assert_same suspects, @lane.suspects
        assert_equal expected, [suspects.unclean, suspects.counts(0), suspects.one_at_a_time?]
      end
    end

    test "moving the source to the ledger's position isn't a seek of the user's" do
      @ports.seek(@lane, 6, :discontinuity)
      assert_equal [[6], 0, 0], [@driver.seeks, @lane.incarnation, @lane.committable_offset]
    end
  end
end
