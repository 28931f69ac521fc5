# frozen_string_literal: true

require "test_helper"
require "support/virtual_clock"
require "penstock/runtime/loop/poll_loop"

module Penstock
  # How long the loop waits, and when it checks its timers.
  class PollLoopTest < TestCase
    # A loop's parts and what it shares, as far as its waiting is concerned.
    class Parts
      attr_accessor :records, :collects, :next_due, :quick_units, :driver
      attr_reader :clock, :asked, :added

      def initialize(clock) = @clock = clock
      def now = @clock.monotonic_ms
      alias_method :read_clocks, :now
      def connection = self
      def active = self
      def add_all = @added = @added.to_i + 1
      def feeder = self
      def find_records = @records

      def collect_ms
        @asked = @asked.to_i + 1
        @collects
      end

      def timers_pending? = false
      def queue = self
      def quick_units? = @quick_units
    end

    def setup
      @clock = VirtualClock.new
      @parts = Parts.new(@clock)
      @mailbox = Runtime::Mailbox.new
      @loop = Loop.allocate
      {parts: @parts, process: @parts, mailbox: @mailbox, longest_wait: 1_000, all_lanes_ms: 10_000,
       all_lanes_at: Float::INFINITY}.each do |name, value|
        @loop.instance_variable_set(:"@#{name}", value)
      end
    end

    def wait_ms = @loop.__send__(:wait_ms)
    def timers? = @loop.__send__(:timers?)

    test "a loop that never waits checks its timers all the same" do
      assert_equal 1_000, wait_ms
      @parts.next_due = @clock.monotonic_ms + 5
      @mailbox.post(:scaled)
      assert_equal 0, wait_ms
      refute timers?
      @clock.advance(20)
      assert_equal 0, wait_ms
      assert timers?
    end

    test "a busy loop doesn't check its timers on each of its turns" do
      @parts.records = true
      wait_ms
      @clock.advance(20)
      assert timers?
      @loop.instance_variable_set(:@due, nil) # as they do when they run
      wait_ms
      refute timers?
    end

    test "a connection is closed also where revoking its partitions fails" do
      closed = []
      driver = Object.new
      driver.define_singleton_method(:close) { |timeout_ms| closed << timeout_ms }
      @loop.instance_variable_set(:@orders, [])
      @parts.define_singleton_method(:abandon) { raise IOError }
      @parts.define_singleton_method(:closed) { closed << :reported }
      assert_raises(IOError) { @loop.__send__(:close, driver) }
      assert_equal [Integer, Symbol], closed.map(&:class), "first closed, then reported"
    end

    # @return [Array(Array<String>, Array<String>)] reasons of flight recordings, types of errors
    def reported_after(error)
      dumps, types, clock = [], [], @clock
      @loop.instance_variable_set(:@group, Struct.new(:ids).new({}))
      {failures: 0, orders: [:a_stop], held_name: Runtime::HeldName.new}.each { |name, value| @loop.instance_variable_set(:"@#{name}", value) }
      @loop.define_singleton_method(:end_unconnected) { nil }
      @parts.define_singleton_method(:clock) { clock }
      @parts.define_singleton_method(:dump_flight) { |reason, _loops| dumps << reason }
      @parts.define_singleton_method(:reporter) { self }
      @parts.define_singleton_method(:emit) { |_name, payload| types << payload[:type] }
      @loop.__send__(:failed, error)
      [dumps, types]
    end

    test "a right that the cluster has taken away is reported as an error of the client, without a recording" do
      assert_equal [[], ["librdkafka.error"]], reported_after(FatalError.new("no", code: :group_authorization_failed))
    end

    test "another error that ends the connection is an error of the loop, with a recording" do
      assert_equal [["loop error"], ["connection.listener.fetch_loop.error"]], reported_after(RuntimeError.new("no"))
    end

    test "without a connection a thread finds out a transaction's end too; while none starts, the message waits for the next connection" do
      claim = Consumer::Claim.new(lane: nil, incarnation: 0, unit: nil, marks: [], metadata: nil, producer: nil, transaction: nil)
      found = []
      clock = @clock
      @parts.define_singleton_method(:clock) { clock }
      @parts.define_singleton_method(:resolve_transaction) { |_claim, _mailbox| found.any? }
      2.times do
        @mailbox.post(word = Consumer::Claim::TransactionEnd.new(claim, :unknown))
        looks = 0
        @loop.__send__(:wait_out, clock.monotonic_ms + 5) { (looks += 1) > 1 }
        assert_equal [found.any?, found.any? ? [] : [word]], [claim.resolving, @mailbox.take_all]
        found << true
      end
    end

    test "[TSTP quiet] without a connection a loop is quiet as soon as none of its earlier units runs" do
      units, told, looks = [:a_unit], [], 0
      clock = @clock
      @parts.define_singleton_method(:clock) { clock }
      @loop.instance_variable_set(:@orphaned_units, units)
      @loop.quiet { told << looks }
      @loop.__send__(:wait_out, clock.monotonic_ms + 5) { (looks += 1) > 1 }
      assert_empty told
      units.clear
      @mailbox.post(:scaled)
      @loop.__send__(:wait_out, clock.monotonic_ms + 5) { (looks += 1) > 3 }
      assert_equal [3], told
    end

    # A client whose waits end as the test requires, without events and lanes.
    Client = Struct.new(:ends, :waits) do
      def wait(timeout_ms)
        waits << timeout_ms
        ends.shift.call
      end

      def poll_event = nil
      def ready_lanes = []
    end

    # Notes which turns did more than wait.
    class Loop < Runtime::PollLoop
      def worked = @worked ||= []

      private

      def work = worked << @parts.driver.waits.size
      def read_mailbox = @mailbox.take_all
    end

    # @return [Array<Integer>] the waits whose turn did more than wait
    def worked(*ends)
      @parts.driver = Client.new(ends, [])
      ends.size.times { @loop.__send__(:turn) }
      @loop.worked.slice!(0..)
    end

    test "a wait that ended by itself is followed by the next one; a message, a wake-up or a timer makes a whole turn" do
      past = -> { @clock.advance(1_000) && false }
      assert_equal [3, 5], worked(past, past, -> { true }, past, -> { @mailbox.post(:scaled) && false }, past)
      assert_equal 3, @parts.asked, "how long to wait is computed again after a whole turn only"
      @parts.next_due = @clock.monotonic_ms + 2_500
      assert_equal [1, 4], worked(-> { true }, past, past, past)
    end

    test "all lanes are looked at every ten seconds, however long nothing happens" do
      @loop.instance_variable_set(:@all_lanes_at, @clock.monotonic_ms + 2_500)
      past = -> { @clock.advance(1_000) && false }
      assert_equal [3, 13], worked(*[past] * 14)
      assert_equal 2, @parts.added
    end

    test "an event of the driver and a request make all lanes active; a driver without news, or with ready lanes only, doesn't" do
      news, ready = [], []
      seen = []
      @parts.driver = Object.new.tap { |driver| driver.define_singleton_method(:poll_event) { news.shift } }
      @parts.driver.define_singleton_method(:ready_lanes) { ready }
      @parts.define_singleton_method(:events) { ->(event) { seen << event } }
      @parts.define_singleton_method(:ready) { |id| seen << id }
      @parts.define_singleton_method(:update_widths) { seen << :update_widths }
      came = lambda do |*events|
        news.concat(events)
        [@loop.__send__(:handle_events), @parts.added.to_i]
      end
      assert_equal [false, 0], came.call
      ready << 7
      assert_equal [true, 0], came.call
      ready.clear
      assert_equal [true, 1], came.call([:stats], [:assign])
      @loop.__send__(:asked, :scaled)
      assert_equal [[7, [:stats], [:assign], :update_widths], 2], [seen, @parts.added]
    end

    test "a loop that didn't wait, or must check on quick units, does whole turns" do
      now = -> { false }
      @parts.records = true
      assert_equal [1, 2], worked(now, now)
      @parts.records = false
      @parts.quick_units = true
      assert_equal [1, 2], worked(now, now)
    end

    test "the loop waits until the next timer, or less while outcomes don't wake it" do
      @parts.next_due = @clock.monotonic_ms + 300
      assert_equal 300, wait_ms
      @parts.collects = 200
      assert_equal 200, wait_ms
      @parts.quick_units = true
      assert_equal 2, wait_ms
    end

    test "while outcomes may wait, those of successful units don't wake the loop, but it waits no longer than they may" do
      outcome = Processing::Outcome.new
      @mailbox.post(outcome)
      assert_equal 0, wait_ms
      @parts.collects = 20

      assert_equal 20, wait_ms
      woken = 0
      @mailbox.wake = -> { woken += 1 }
      @mailbox.post(outcome)
      assert_equal 0, woken
      @mailbox.post(:scaled)
      assert_equal 1, woken
    end
  end
end
