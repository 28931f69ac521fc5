# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/lanes"
require "support/virtual_clock"
require "penstock/processing/admission/selection"
require "penstock/routing/features/delay_by"
require "penstock/routing/features/parallel"
require "penstock/routing/features/window"
require "penstock/runtime/loop/work/feeder"
require "penstock/execution/run_queue"

module Penstock
  class FeederTest < TestCase
    include TestSupport::Lanes

    # The session and its parts; returns one batch per lane.
    class Session
      include TestSupport::AllActive

      attr_reader :all, :queue, :batches

      def initialize(*lanes)
        @all = lanes
        @queue = Execution::RunQueue.new
        @batches = []
      end

      def lanes = @all.to_h { |lane| [lane.key, lane] }
      def feeding = true
      def now = 0
      def driver = self
      attr_reader :asked

      def take(request)
        (@asked ||= []).concat(request.each_slice(3).map(&:last))
        request.each_slice(3).map { |source, most, _bytes| source ? source.call(most) : @batches.shift }
      end

      def settings = self
      def window_bytes = 1_000_000
      def pool = self
      def grow(_count) = nil
      def subscribed?(_event) = false
      def cached_watermarks(_topic, _partition) = [0, 0]
      attr_accessor :mailbox
    end

    # Counts how often its loop was woken.
    class Woken
      def count = @count.to_i
      def wake_up = @count = count + 1
    end

    # Lets every lane continue.
    class Unsuspicious
      def check(_lane) = true
      def admit(_lane, _unit) = true
      def release(_lane) = nil
      def commit = nil
    end

    # A pipeline that drops the records that a block selects.
    Dropping = Struct.new(:drop, :calls) do
      def call(messages, _now, _wall, keys)
        self.calls += 1
        selection = Processing::Admission::Selection.new(messages, keys)
        messages.size.times { |position| selection.drop(position) if drop.call(messages.offset_at(position)) }
        selection.run
      end

      def recheck? = false
    end

    # Ports that count how often a commit was scheduled.
    class CommitPorts < TestSupport::Lanes::Ports
      attr_reader :scheduled

      def schedule_commit = @scheduled = @scheduled.to_i + 1
    end

    def setup
      @topic = route
      @lane = lane(@topic, committed: 0)
      assign(@lane, slot: Execution::RunQueue::Slot.new("orders"))
      equip(@lane, pipeline: Dropping.new(:odd?.to_proc, 0))
      @session = Session.new(@lane)
      @ports = CommitPorts.new
      @feeder = Runtime::Feeder.new(@session, {@topic => topic_pipeline(@topic)}, @ports, ->(_topic) { 5 }, Unsuspicious.new)
    end

    test "a lane that loses its place to another loop after it was fed is woken when one becomes free" do
      @session.mailbox = Woken.new
      @session.batches << batch(0..0, from: 0, full: true)
      equip(@lane, pipeline: Dropping.new(->(_offset) { true }, 0))
      @feeder.run
      7.times do |index|
        other = Execution::RunQueue::Slot.new("orders", nil, Woken.new)
        @session.queue.push(other, Processing::Unit.new(index, :consume, nil, nil, 1, 0))
      end
      refute @feeder.find_records
      assert_equal 0, @session.mailbox.count
      @session.queue.take

      assert_equal 1, @session.mailbox.count
    end

    test "a take notes the end of the partition for the lag of calls, if a listener wants them and the client knows it" do
      ends = [[false, 50], [true, -1_001], [true, 50]].map do |wanted, high|
        setup
        @session.define_singleton_method(:cached_watermarks) { |_topic, _partition| [0, high] }
        @session.define_singleton_method(:subscribed?) { |_event| wanted }
        @session.batches << batch(0..1, from: 0)
        @feeder.run
        @lane.log_end
      end

      assert_equal [nil, nil, 50], ends
    end

    test "records that retention deleted are noticed before a take's records, between them, and before the end of the log" do
      takes = [batch([7], from: 2), batch([2, 7], from: 2), batch([2], from: 2, eof: 7), batch([], from: 2, eof: 7)]
      counts = takes.map do |take|
        setup
        @lane.adopt(2)
        confirm_start(@lane)
        @session.define_singleton_method(:cached_watermarks) { |_topic, _partition| [7, 9] }
        @session.batches << take
        @feeder.run
        @ports.events.map { |_name, event| event[:count] }
      end

      assert_equal [[5], [4], [4], [5]], counts
    end

    test "a take brings no more bytes than the partition's window has room for, even if the settings allow more" do
      window = Routing::Window.new(nil, 2_000)
      keyed = route(features: {parallel: Routing::Parallel.new(:message, 3, nil, :rolling, :current), window: window})

      assert_equal [2_000, 1_996], asked_for(keyed)
      assert_equal [2_000], asked_for(route(features: {window: window})).first(1)
      assert_equal [1_000_000], asked_for(route).first(1)
    end

    test "where more partitions have records than units may be queued, each gets its turn" do
      lanes = Array.new(9) { |partition| endless(partition) }
      session = Session.new(*lanes)
      feeder = Runtime::Feeder.new(session, {@topic => topic_pipeline(@topic)}, @ports, ->(_topic) { 2 }, Unsuspicious.new)
      served = Hash.new(0)
      running = []
      100.times do
        feeder.run
        running << session.queue.take(wait: false) while running.size < 2
        slot, unit = running.shift
        served[unit.lane.partition] += 1
        session.queue.finished(slot, unit, false)
        settle(unit.lane, unit, ports: @ports)
      end
      assert_equal 9, served.size, served.inspect
      assert_operator served.values.max, :<=, 3 * served.values.min, served.inspect
    end

    # Active lanes of which every second turn has fewer.
    class Alternating
      def initialize(lanes) = @lanes = lanes
      def add(_lane) = nil
      def to_a = (@more = !@more) ? @lanes : @lanes.first(3)
    end

    test "where the number of active lanes changes with every turn, not always the same lane comes first" do
      lanes = Array.new(9) { |partition| endless(partition) }
      session = Session.new(*lanes)
      active = Alternating.new(lanes)
      session.define_singleton_method(:active) { active }
      feeder = Runtime::Feeder.new(session, {@topic => topic_pipeline(@topic)}, @ports, ->(_topic) { 2 }, Unsuspicious.new)
      first = Array.new(36) { feeder.__send__(:rotated).first.partition }.each_slice(2).map(&:first)
      assert_equal 9, first.uniq.size, first.inspect
    end

    # Bytes, of two takes that brought two records of two bytes each.
    def asked_for(topic)
      lane = lane(topic, committed: 0)
      assign(lane, slot: Execution::RunQueue::Slot.new("orders", nil, nil, width: 3))
      session = Session.new(lane)
      feeder = Runtime::Feeder.new(session, {topic => topic_pipeline(topic)}, @ports, ->(_topic) { 5 }, Unsuspicious.new)
      2.times do |round|
        session.batches << batch((2 * round)...(2 * round + 2), from: 2 * round)
        lane.takes.ready = true
        feeder.run
      end
      session.asked
    end

    # A partition with an unlimited number of records.
    def endless(partition)
      lane = nil
      source = ->(most) { batch(lane.ledger.tail...(lane.ledger.tail + most), from: lane.ledger.tail, full: true) }
      lane = topic_pipeline(@topic).lane("orders", partition, 1, source)
      lane.adopt(0)
      assign(lane, source: source, slot: Execution::RunQueue::Slot.new("orders"))
      lane
    end

    def at_end
      @topic.define_singleton_method(:eofed?) { true }
      @ports.define_singleton_method(:no_messages) { |_lane| Messages.new(Messages::MemoryBatch.new("orders", 0, [])) }
      equip(@lane, pipeline: nil)
      confirm_start(@lane)
    end

    def reach
      @lane.takes.ready = true
      @feeder.run
    end

    # @return [Processing::Unit] of the record at 0
    def begin_unit
      @session.batches << batch([0], from: 0)
      @feeder.run
      @session.queue.take(wait: false).last
    end

    def end_unit(unit)
      @session.queue.finished(@lane.assignment.slot, unit, false)
      settle(@lane, unit, ports: @ports)
      @feeder.run
    end

    # Units of the lane that were handed out: their actions and their first offsets.
    def handed_out
      units = @session.queue.withdraw(@lane.assignment.slot)
      units.map { |unit| [unit.action, *unit.messages.map(&:offset)] }.tap { @lane.put_back(units) }
    end

    # A loop's own partition, on the queue of another loop.
    def beside(session, woken)
      lane = endless(7)
      slot = Execution::RunQueue::Slot.new("orders", nil, mailbox(woken))
      assign(lane, source: lane.assignment.source, slot: slot)
      own = Session.new(lane)
      own.instance_variable_set(:@queue, session.queue)
      own.define_singleton_method(:mailbox) { slot.mailbox }
      Runtime::Feeder.new(own, {@topic => topic_pipeline(@topic)}, @ports, ->(_topic) { 2 }, Unsuspicious.new)
    end

    def mailbox(woken) = Object.new.tap { |one| one.define_singleton_method(:wake_up) { woken << one } }

    test "where another loop's partitions have all places a loop is woken when one becomes free" do
      session = Session.new(endless(0), endless(1), endless(2), endless(3), endless(4), endless(5))
      Runtime::Feeder.new(session, {@topic => topic_pipeline(@topic)}, @ports, ->(_topic) { 2 }, Unsuspicious.new).run
      starved = beside(session, woken = [])
      starved.run
      assert_empty woken
      session.queue.take(wait: false)
      assert_equal 1, woken.size
      starved.run
      assert_equal 7, Array.new(4) { session.queue.take(wait: false) }.compact.last[1].lane.partition
    end

    test "[eofed] an end that is reached while a unit runs is reported after the unit" do
      at_end
      running = begin_unit
      @session.batches << batch([], from: 1, eof: 1)
      2.times { reach }
      assert_empty handed_out
      end_unit(running)
      assert_equal [[:eofed]], handed_out
      @feeder.run
      assert_equal [[:eofed]], handed_out, "it was called back"
      @feeder.run
      end_unit(@session.queue.take(wait: false).last)
      assert_empty handed_out
    end

    test "[eofed] where keys run in parallel, an end that comes with records is reported after them; in order only to their call" do
      keyed = route(features: {parallel: Routing::Parallel.new(:message, 3, nil, :rolling, :current)})
      reported = [@topic, keyed].map do |topic|
        @topic, @lane = topic, lane(topic, committed: 0)
        assign(@lane, slot: Execution::RunQueue::Slot.new("orders", nil, nil, width: 3))
        @session, @ports = Session.new(@lane), CommitPorts.new
        @feeder = Runtime::Feeder.new(@session, {topic => topic_pipeline(topic)}, @ports, ->(_topic) { 5 }, Unsuspicious.new)
        at_end
        @session.batches << batch([0], from: 0, eof: 1)
        @feeder.run
        unit = @session.queue.take(wait: false).last
        assert_empty handed_out
        end_unit(unit)
        handed_out
      end
      assert_equal [[], [[:eofed]]], reported
    end

    test "[eofed] in order, an end whose last record no call gets is reported after the others" do
      at_end
      equip(@lane, pipeline: Dropping.new(->(offset) { offset == 1 }, 0))
      @session.batches << batch([0, 1], from: 0, eof: 2)
      reach
      end_unit(@session.queue.take(wait: false).last)
      assert_equal [[:eofed]], handed_out
    end

    test "[eofed] with parallel keys the end isn't reported before records that wait for a delay" do
      clock = VirtualClock.new(monotonic_ms: 0)
      @topic = route(features: {parallel: Routing::Parallel.new(:key, 3, nil, :rolling, :current),
                                delay_by: Routing::DelayBy.new(60_000)})
      pipeline = topic_pipeline(@topic, clock: clock)
      @lane = pipeline.lane("orders", 0, 1).tap { |lane| lane.adopt(0) }
      assign(@lane, slot: Execution::RunQueue::Slot.new("orders", nil, nil, width: 3))
      @session = Session.new(@lane)
      @session.define_singleton_method(:now) { clock.monotonic_ms }
      @feeder = Runtime::Feeder.new(@session, {@topic => pipeline}, @ports, ->(_topic) { 5 }, Unsuspicious.new)
      pipelined = @lane.pipeline
      at_end
      equip(@lane, pipeline: pipelined)
      row = Messages::MemoryBatch::Row.new(offset: 0, payload: "p", key: "a", timestamp: clock.wall_ms)
      @session.batches << Messages::MemoryBatch.new("orders", 0, [row], from: 0, eof: 1)
      reach
      assert_equal [1, nil], [@lane.intake.size, @session.queue.take(wait: false)]
      clock.advance(61_000)
      @lane.intake.expire(clock.monotonic_ms)
      @feeder.run
      end_unit(@session.queue.take(wait: false).last)
      assert_equal [[:eofed]], handed_out
    end

    test "[eofed] an end that was called back isn't reported once records come after it" do
      at_end
      @session.batches << batch([], from: 0, eof: 0)
      reach
      @session.batches << batch([0], from: 0)
      assert_equal [[:eofed]], handed_out
      reach
      assert_equal [[:consume, 0]], handed_out
      refute @feeder.ends_pending?
    end

    test "[eofed] during an outage the end is reported while no record is left to be tried, and not during a pause" do
      at_end
      lane = @session.all.first
      lane.holds.add(:breaker)
      lane.holds.add(:user)
      @session.batches << batch([], from: 1, eof: 1)
      reach
      assert_empty handed_out
      lane.holds.release(:user)
      @feeder.run
      assert_equal [[:eofed]], handed_out
    end

    test "[eofed] an end that wasn't reported yet isn't reported once records come after it" do
      at_end
      running = begin_unit
      @session.batches << batch([], from: 1, eof: 1) << batch([1], from: 1)
      2.times { reach }
      end_unit(running)
      assert_equal [[:consume, 1]], handed_out
      refute @feeder.ends_pending?
    end

    test "[eofed] the end isn't reported before units that were called back and find no worker" do
      at_end
      places = 5
      feeder = Runtime::Feeder.new(@session, {@topic => topic_pipeline(@topic)}, @ports, ->(_topic) { places }, Unsuspicious.new)
      @session.batches << batch([0], from: 0) << batch([], from: 1, eof: 1)
      2.times do
        @lane.takes.ready = true
        feeder.run
      end
      @lane.put_back(@session.queue.withdraw(@lane.assignment.slot))
      places = -2
      feeder.run
      assert_equal [0, true], [@session.queue.waiting("orders"), feeder.ends_pending?]
      places = 5
      feeder.run
      assert_equal [[:consume, 0]], handed_out
    end

    test "records that are dropped before a unit move the offset, so a commit is due" do
      @lane.pipeline.drop = ->(_offset) { true }
      @session.batches << batch(0..3, from: 0)
      @feeder.run
      assert_equal 4, @lane.committable_offset
      refute_nil @ports.scheduled
      assert_nil @session.queue.take(wait: false)
    end

    test "all parts of the intake that are due go in, on one turn" do
      rows = batch(0..5, from: 0)
      @lane.ledger.admit(0, 6, nil)
      messages = Messages.new(rows)
      @lane.intake.push(messages.slice(3, 3))
      @lane.intake.put_back(messages.slice(0, 3), nil, prepared: true)
      @feeder.run
      assert_equal [2, true], [@lane.pipeline.calls, @lane.intake.empty?]
      assert_equal([[0, 2], [4]], @session.queue.withdraw(@lane.assignment.slot).map { |unit| offsets_of(unit) })
    end
  end
end
