# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/instrumentation/monitor"
require "support/virtual_clock"
require "penstock/execution/middleware_stack"
require "penstock/runtime/process_context"

module Penstock
  class ProcessContextTest < TestCase
    Settings = Struct.new(:flight_recorder_path)
    Loop = Struct.new(:recording)
    # The settings of workers.
    Working = Struct.new(:concurrency, :worker_thread_priority, :critical_errors, :lock_metrics)

    # Records its events.
    class Told
      attr_reader :events

      def initialize = @events = []
      def emit(name, payload) = @events << [name, payload]
    end

    def host(folder)
      @told = Told.new
      Runtime::ProcessContext.allocate.tap do |host|
        host.instance_variable_set(:@settings, Settings.new(folder))
        host.instance_variable_set(:@clock, VirtualClock.new)
        host.instance_variable_set(:@reporter, @told)
      end
    end

    test "a flight dump that can't be written is reported, and any error there lets the caller continue" do
      Dir.mktmpdir do |folder|
        [[File.join(folder, "none"), 1], [folder, Float::NAN], [folder, "\xFF"]].each do |place, value|
          host(place).dump_flight("loop error", [Loop.new([{entries: [value]}])])
          assert_equal [["error.occurred", "flight_recorder.dump.error"]], @told.events.map { |name, told| [name, told[:type]] }
        end
        assert_empty Dir.children(folder)
      end
    end

    # Matches a pattern; the first question about its workers waits until it is answered.
    class Discovered
      attr_reader :name, :asked, :answer

      def initialize(name, workers)
        @name = name
        @workers = workers
        @asked, @answer = Array.new(2) { Thread::Queue.new }
      end

      def discovered? = true
      def features = {}

      def workers_max
        asked << true
        answer.pop
        @workers
      end
    end

    def known(name, workers) = Discovered.new(name, workers).tap { |topic| topic.answer.close }

    # The process with 4 workers.
    def process(*topics, lock_metrics: false)
      settings = Working.new(4, 0, [], lock_metrics)
      context = Runtime::ProcessContext.new(settings: settings, monitor: Instrumentation::Monitor.new, logger: nil,
        clock: VirtualClock.new, codec: nil, middleware: Execution::MiddlewareStack.new, producer: -> {}, topics: topics,
        properties: ->(_group) { {} },
        stop: ->(error) { raise error })
      yield context
    ensure
      context&.close_workers(5)
      context&.close_reporter(5)
    end

    # The first begins, the second one comes before the first has ended.
    def overlapping(topic, second)
      first = Thread.new { yield }
      topic.asked.pop
      other = Thread.new(&second)
      wait_until(5, "the other thread's end, or its wait for the lock") { other.stop? }
      topic.answer.close
      [first, other].each(&:join)
    end

    test "the wall clock is read when the process begins: a jump after that isn't trusted" do
      process do |context|
        clock = context.clock.jump_wall(3_600_000)
        assert_equal 3_600_000, clock.wall_ms - context.cautious_clock.call(clock.monotonic_ms, clock.wall_ms, 10_000)
      end
    end

    test "[pattern topics] topics that two poll loops discover at the same time both get their limit of workers" do
      process do |context|
        slow, quick = Discovered.new("slow", 2), known("quick", 3)
        overlapping(slow, -> { context.discovered(quick) }) { context.discovered(slow) }

        assert_equal [2, 3, 4], %w[slow quick other].map { |name| context.worker_limit(name) }
      end
    end

    test "a change of the number of workers isn't lost when a topic is discovered at the same time" do
      process(known("fixed", nil)) do |context|
        slow = Discovered.new("slow", 2)
        overlapping(slow, -> { context.scale(6) }) { context.discovered(slow) }

        assert_equal [2, 6], %w[slow fixed].map { |name| context.worker_limit(name) }
      end
    end

    test "[lock metrics] workers are measured only on request" do
      require "penstock/native/lock_meter"

      process { |context| assert_nil context.pool.instance_variable_get(:@meters) }
      process(lock_metrics: true) { |context| assert_same Native::LockMeter, context.pool.instance_variable_get(:@meters) }
    end

    test "if Ruby's lock can't be measured, the process doesn't start, and the error names the setting" do
      require "penstock/native/lock_meter"
      full = Module.new { def prepare = @full ? raise(ThreadError, "called more than 8 times") : super }
      Native::LockMeter.singleton_class.prepend(full)
      Native::LockMeter.instance_variable_set(:@full, true)
      error = assert_raises(ConfigurationError) { process(lock_metrics: true) { nil } }

      assert_match(/config\.lock_metrics: is true, but this process can't measure .*: called more than 8 times.*Set it to false/m,
        error.message)
    ensure
      Native::LockMeter.instance_variable_set(:@full, false)
    end
  end
end
