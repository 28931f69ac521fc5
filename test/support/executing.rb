# frozen_string_literal: true

require "io/wait"
require "penstock/clock"
require "penstock/consumer/base_consumer"
require "penstock/consumer/marks"
require "penstock/consumer/pool"
require "penstock/execution/middleware_stack"
require "penstock/execution/unit_runner"
require "penstock/instrumentation/monitor"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/unit"
require "penstock/execution/run_queue"
require "penstock/runtime/threads"
require "penstock/routing/option_values"
require "penstock/serialization/deserializers"

module Penstock
  module TestSupport
    # Sets up an executor with everything around it except a poll loop: units are pushed, outcomes come out. The lines
    # that user code logs go through a pipe, because it may run in another process.
    module Executing
      Topic = Struct.new(:name, :consumer, :consumer_persistence, :deserializers, :pattern, keyword_init: true) do
        def outdated?(_object) = false
        def features = {}
        def pause = Routing::Pause.new(1_000, 30_000, true)
        def id = "group_#{name}"
        def pattern? = false
        def manual_offset_management? = false
      end

      Lane = Struct.new(:topic, :partition, :marks, :incarnation, :breaker, :log_end, keyword_init: true) do
        def topic_name = topic.name
        def key = [topic_name, partition]
        def adopted_metadata = "adopted"
        def ledger = nil
      end

      # The mailbox to which workers post.
      class Mailbox
        def initialize = @posts = Thread::Queue.new
        def post(message) = @posts << message
        def post_quietly(message) = @posts << message
        def wake_up = nil
        def empty? = @posts.empty?
        def shift = @posts.shift
      end

      # The requests that user code makes of a poll loop.
      class Link
        attr_reader :requests, :commits
        attr_accessor :stopping

        def initialize
          @requests = []
          @commits = []
        end

        def producer = :a_producer
        def stopping? = @stopping || false
        def request(_lane, flow) = @requests << flow
        def offset_at(_lane, time_ms) = (time_ms == 404_000) ? raise(KafkaError, "look-up failed") : time_ms / 1_000

        def commit(lane, _incarnation = nil)
          @commits << lane.marks.through
          lane.marks.owned?
        end
      end

      # A consumer class for one test; `log` writes a line in any process, to be read with `told`.
      def consumer(parent = BaseConsumer, &block)
        out = writer
        Class.new(parent) do
          define_method(:log) { |*words| out.syswrite("#{words.join(" ")}\n") }
          define_method(:until_stopping) { sleep(0.01) until stopping? }
          define_method(:until_true) { |&condition| sleep(0.01) until condition.call }
          define_method(:wait_for_ever) { sleep }
          class_eval(&block)
        end
      end

      def before_setup
        super
        @errors = Thread::Queue.new
        @monitor = Instrumentation::Monitor.new(strict: true)
        @monitor.subscribe("error.occurred") { |event| @errors << event.payload }
        @link = Link.new
        @mailbox = Mailbox.new
        @threads = Runtime::Threads.new(->(name, error) { @errors << {type: name, error: error} })
        @queue = Execution::RunQueue.new
      end

      def after_teardown
        @executor&.close(5)
        [@reader, @writer].each { |io| io&.close }
        super
      end

      # Starts the executor for a consumer class.
      def executing(consumer_class = nil, layers: [], around: nil, size: 2, persistence: true, **options, &block)
        @topic = Topic.new(name: "orders", consumer: consumer_class || consumer(&block), consumer_persistence: persistence,
          deserializers: Serialization::Deserializers::DEFAULT)
        @executor = executor(Execution::MiddlewareStack.new(layers, around_user_code: [around].compact), size, **options)
      end

      # Starts the executor for a consumer that logs when it begins, and returns when the process stops.
      def executing_until_stopping
        executing do
          define_method(:consume) do
            log("began", partition)
            until_stopping
          end
        end
      end

      def runner(middleware, monitor = @monitor)
        Execution::UnitRunner.new(monitor: monitor, middleware: middleware, clock: Clock::SYSTEM, critical: [SystemExit],
          queue: @queue)
      end

      def lane(partition = 0) = Lane.new(topic: @topic, partition: partition, marks: Consumer::Marks.new, incarnation: 0)

      def slot(lane, width: 1)
        Execution::RunQueue::Slot.new("orders", Consumer::Pool.new { Consumer::Context.new(lane, @link) }, @mailbox, width: width)
      end

      # @param offsets [Enumerable<Integer>]
      def messages(lane, offsets, eof: nil, **row)
        rows = offsets.map do |offset|
          Messages::MemoryBatch::Row.new(offset: offset, payload: %({"offset":#{offset}}), key: "k#{offset}", headers: nil,
            timestamp: 1_000 + offset, leader_epoch: 3, **row)
        end
        batch = Messages::MemoryBatch.new("orders", lane.partition, rows, eof: eof)
        batch.context = Messages::Context.new(@topic.deserializers, 5_000, lane.marks)
        Messages.new(batch, scheduled_ms: 6_000)
      end

      def unit(lane, offsets, action: :consume, attempt: 1, **options)
        Processing::Unit.new(lane, action, messages(lane, offsets, **options), offsets.last.to_i + 1, attempt, 0)
      end

      # Pushes a unit to the executor.
      def push(lane, unit, slot = slot(lane))
        @executor.grow(@queue.push(slot, unit))
        unit
      end

      # @return [Processing::Outcome]
      def outcome(seconds = 10)
        wait_until(seconds, "an outcome", state: -> { [@queue.snapshot, drained(@errors)] }) { !@mailbox.empty? }
        @mailbox.shift
      end

      # @return [Processing::Outcome] of a unit with these offsets, which is pushed first
      def run_unit(offsets, at: lane, **options)
        push(at, unit(at, offsets, **options))
        outcome
      end

      # @return [String] a line that user code has logged
      def told(seconds = 10)
        assert wait_until(seconds, "line logged by user code") { @reader.wait_readable(0) }
        @reader.gets&.chomp
      end

      def drained(queue) = Array.new(queue.size) { queue.pop }

      private

      def writer
        @reader, @writer = IO.pipe unless @writer
        @writer
      end
    end
  end
end
