# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/lanes"
require "penstock/runtime/loop/work/feeder"
require "penstock/execution/run_queue"

module Penstock
  # Redelivery after an error of a consumer with manual offsets: the loop fetches again the records that were handed out and
  # never marked.
  class FeederGoesBackTest < TestCase
    include TestSupport::Lanes

    # The session and its parts; hands out the records at the lane's source position.
    class Session
      include TestSupport::AllActive

      attr_reader :all, :queue

      def initialize(lane, log)
        @all = [lane]
        @queue = Execution::RunQueue.new
        @log = log
      end

      def lanes = @all.to_h { |lane| [lane.key, lane] }
      def feeding = true
      def now = 0
      def driver = self
      def take(_request) = [@log.call]
      def cached_watermarks(_topic, _partition) = [0, 6]
      def settings = self
      def window_bytes = 1_000_000
      def pool = self
      def grow(_count) = nil
      def subscribed?(_event) = false
      def mailbox = nil
    end

    class Unsuspicious
      def check(_lane) = true
      def admit(_lane, _unit) = true
      def release(_lane) = nil
      def commit = nil
    end

    Source = Struct.new(:cursor)

    def setup
      super
      @topic = route(manual: true, max_messages: 2)
      @source = Source.new(0)
      @lane = topic_pipeline(@topic).lane("orders", 0, 1, @source)
      @lane.adopt(0)
      assign(@lane, source: @source, slot: Execution::RunQueue::Slot.new("orders"))
      @session = Session.new(@lane, method(:read))
      @feeder = Runtime::Feeder.new(@session, {@topic => topic_pipeline(@topic)}, @ports = ports, ->(_topic) {
        2
      }, Unsuspicious.new)
    end

    # A log of six records, three at a time.
    def read
      return if @source.cursor >= 6
      from = @source.cursor
      @source.cursor = [from + 3, 6].min
      batch(from...@source.cursor, from: from, eof: ((@source.cursor == 6) ? 6 : nil), full: @source.cursor < 6)
    end

    # Like the loop's ports, as far as the source is concerned.
    def ports
      source = @source
      Ports.new.tap do |ports|
        ports.define_singleton_method(:schedule_commit) { nil }
        ports.define_singleton_method(:no_messages) { |_lane| Messages.new(Messages::MemoryBatch.new("orders", 0, [])) }
        ports.define_singleton_method(:seek) do |lane, target, cause|
          super(lane, target, cause)
          source.cursor = target
          lane.takes.ready = true
        end
      end
    end

    # @return [Array<Array<Integer>>] the units that ran, until none waits or one of them has failed
    def work(failing = nil)
      ran = []
      loop do
        @feeder.run
        slot, unit = @session.queue.take(wait: false)
        return ran unless unit
        ran << unit.messages.offsets
        return ran if finish(slot, unit, unit.messages.offsets.include?(failing))
      end
    end

    # @return [Boolean] whether it failed
    def finish(slot, unit, fails)
      @session.queue.finished(slot, unit, fails)
      @lane.put_back(@session.queue.withdraw(slot, unstall: true)) if fails
      settle(@lane, unit, error: fails ? IOError.new : nil, ports: @ports)
      fails
    end

    test "the lane waits as long as anything else holds it, then its source seeks to the first unmarked record" do
      assert_equal [[0, 1], [2], [3, 4]], work(3)
      @feeder.run
      assert_empty @ports.seeks
      @lane.holds.expire(1_000_000)

      assert_equal [[0, 1], [2], [3], [4], [5]], work
      assert_equal [[["orders", 0], 0, :redelivery]], @ports.seeks
      assert_includes @ports.events, ["consumer.redelivery", {topic: "orders", partition: 0, offset: 0, count: 3}]
    end

    test "an open breaker doesn't delay redelivery: it needs a record to probe" do
      work(3)
      @lane.holds.expire(1_000_000)
      @lane.holds.add(:breaker)
      3.times { @feeder.run }

      assert_equal [[["orders", 0], 0, :redelivery]], @ports.seeks
      assert @lane.probing.possible?
      assert_equal [0], offsets_of(@lane.probe)
    end

    test "where everything was marked meanwhile the lane continues at its position" do
      work(3)
      @lane.complete_through(3)
      @lane.holds.expire(1_000_000)

      assert_equal [[3], [4], [5]], work
      assert_empty @ports.seeks
    end

    test "the end of the partition is reported after the records that come again, not before" do
      @topic.define_singleton_method(:eofed?) { true }
      work(5)
      @feeder.instance_variable_get(:@pending_ends)[@lane] = @lane.incarnation
      @lane.holds.expire(1_000_000)
      @feeder.run

      refute @feeder.ends_pending?
    end
  end
end
