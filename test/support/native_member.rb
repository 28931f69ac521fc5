# frozen_string_literal: true

require "penstock/native/consumer"
require "penstock/native/mock_cluster"
require "penstock/native/producer"
require_relative "wait"

module Penstock
  module TestSupport
    # The smallest poll loop over a native consumer: it answers rebalances (or leaves them to the test), takes what is
    # ready and records what it received. The test's own thread turns it; it ends with {#close}.
    class NativeMember
      PROPERTIES = {
        "group.id" => "group", "auto.offset.reset" => "earliest", "enable.auto.commit" => "false",
        "enable.auto.offset.store" => "false", "enable.partition.eof" => "true", "fetch.wait.max.ms" => "10",
        "fetch.queue.backoff.ms" => "20", "partition.assignment.strategy" => "cooperative-sticky",
        "session.timeout.ms" => "2000", "heartbeat.interval.ms" => "100", "log_level" => "2"
      }.freeze

      # @return [Consumer]
      attr_reader :consumer
      # @return [Hash{(String, Integer)=>Lane}] the lanes that are open
      attr_reader :lanes
      # @return [Array<Array>] every event, in order
      attr_reader :events
      # @return [Hash{(String, Integer)=>Array<Integer>}] offsets in the order in which they arrived
      attr_reader :offsets
      # @return [Hash{(String, Integer)=>Array<Batch>}]
      attr_reader :batches
      # @return [Hash{(String, Integer)=>Float}] the longest time between two takes with records
      attr_reader :gaps

      # @param answers [Boolean] whether rebalances are answered at once
      # @param takes [Boolean] whether lanes are emptied
      # @param without [Array<String>] properties of {PROPERTIES} to leave out
      def initialize(cluster, *topics, answers: true, takes: true, without: [], **properties)
        texts = properties.to_h { |name, value| [name.is_a?(Symbol) ? name.to_s.tr("_", ".") : name, value.to_s] }
        @consumer = Native::Consumer.new(
          PROPERTIES.except(*without).merge("bootstrap.servers" => cluster.bootstrap_servers, **texts)
        )
        @answers = answers
        @takes = takes
        @lanes = {}
        @ready = []
        @events = []
        @held = []
        @offsets = Hash.new { |hash, key| hash[key] = [] }
        @batches = Hash.new { |hash, key| hash[key] = [] }
        @seen_at = {}
        @gaps = Hash.new(0)
        @consumer.subscribe(topics) unless topics.empty?
      end

      attr_accessor :answers, :takes

      # One turn; waits at most `wait_ms` for something to do.
      def turn(wait_ms = 20)
        @consumer.wait(wait_ms)
        while (event = @consumer.poll_event)
          @events << event
          rebalance(event) if %i[assign revoke].include?(event.first)
        end
        take if @takes
      end

      # Turns until the block returns something true.
      def turn_until(deadline = 10, what = nil)
        limit = now + (deadline * Wait::TIME_FACTOR)
        until (value = yield)
          raise Wait::TimeoutError, "after #{deadline} s still no #{what}; events: #{@events}" if now > limit

          turn
        end
        value
      end

      def turn_for(seconds)
        limit = now + seconds
        turn while now < limit
      end

      # The oldest event of the kind that the block accepts; turns until there is one.
      def await_event(kind, deadline = 10)
        turn_until(deadline, "#{kind} event") { @events.find { |event| event.first == kind } }
      end

      def await_assignment(count, deadline = 10)
        turn_until(deadline, "#{count} lanes") { @lanes.size == count && @held.empty? }
      end

      def await_records(key, count, deadline = 10)
        turn_until(deadline, "#{count} records of #{key}") { @offsets[key].size >= count }
      end

      # Answers the oldest rebalance that {#answers} left to the test.
      def answer
        event = @held.shift
        result = @consumer.answer
        event[1].each { |key| @lanes.delete(key)&.close } if event.first == :revoke
        result
      end

      def pending
        @held.size
      end

      def forget_gaps
        @gaps.clear
        @seen_at.clear
      end

      def close(timeout_ms = 5_000)
        @consumer.close(timeout_ms)
      end

      private

      def rebalance(event)
        @held << event
        event[1].each { |topic, partition| @lanes[[topic, partition]] = @consumer.lane(topic, partition) } if
          event.first == :assign
        answer if @answers
      end

      def take
        @ready |= @consumer.ready_lanes
        by_id = @lanes.to_h { |_, lane| [lane.id, lane] }
        lanes = @ready.filter_map { |id| by_id[id] }
        @ready = []
        return if lanes.empty?

        @consumer.take(lanes.flat_map { |lane| [lane, 1_000, 1 << 20] }).zip(lanes) { |batch, lane| keep(batch, lane) }
      end

      def keep(batch, lane)
        return unless batch

        key = [lane.topic, lane.partition]
        @ready << lane.id if batch.full?
        @batches[key] << batch
        @offsets[key].concat(batch.offsets)
        note_gap(key) if batch.size.positive?
      end

      def note_gap(key)
        @gaps[key] = [@gaps[key], now - @seen_at[key]].max if @seen_at[key]
        @seen_at[key] = now
      end

      def now
        ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end

    # A mock cluster per class, a topic per test, members that teardown closes.
    module NativeCluster
      def self.included(base)
        base.extend(ClassMethods)
        base.leaks_checked_per_class "the cluster's sockets open and close with their clients"
      end

      module ClassMethods
        attr_reader :cluster

        def before_all
          super
          @cluster = Native::MockCluster.new
          @cluster.group_initial_rebalance_delay = 50
          await_threads
        end

        # The cluster's threads are counted once they run, which may be in the middle of the first test.
        def await_threads
          counts = []
          Wait.wait_until(5, every: 0.01) { (counts << Native.thread_count).last(10).uniq.one? && counts.size >= 10 }
        end

        def after_all
          @cluster.close
          super
        end
      end

      def setup
        super
        @members = []
      end

      def teardown
        @members.each { |member| member.close(500) }
        super
      end

      def cluster
        self.class.cluster
      end

      # @return [String] a topic of this test's own
      def topic(partitions = 1)
        "topic-#{object_id}-#{@topics = (@topics || 0) + 1}".tap { |name| cluster.create_topic(name, partitions) }
      end

      # A member of a group of this test's own.
      def member(*topics, **options)
        NativeMember.new(cluster, *topics, group_id: "group-#{object_id}", **options).tap { |one| @members << one }
      end

      def produce(topic, payloads, partition: 0, **options)
        producer = Native::Producer.new({"bootstrap.servers" => cluster.bootstrap_servers, "linger.ms" => "0"})
        payloads.each { |payload| producer.produce(topic, payload, partition: partition, handle: false, **options) }
        producer.flush(5_000)
      ensure
        producer&.close(1_000)
      end
    end
  end
end
