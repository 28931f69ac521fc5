# frozen_string_literal: true

require "test_helper"
require "support/native_member"
require "support/ruby_program"

module Penstock
  module Native
    # Every wait can be ended from outside: Thread#kill, Timeout, a signal.
    class InterruptTest < TestCase
      include TestSupport::NativeCluster

      NOBODY = {"bootstrap.servers" => "127.0.0.1:1", "group.id" => "group", "log_level" => "0"}.freeze

      def setup
        super
        @consumer = Consumer.new(NOBODY)
      end

      # An abandoned query ends by itself, and then its handle.
      def teardown
        @consumer.close(100)
        super
        wait_until(5, "the consumer is gone") { @consumer.state == :closed }
      end

      # Runs the block in a thread, and returns how long the thread took to end after it was killed.
      def seconds_to_kill
        started = Queue.new
        thread = Thread.new do
          started << true
          yield
        end
        started.pop
        wait_until(2, "the thread waits") { thread.status == "sleep" }
        observe_for(0.05)
        seconds { thread.kill.join }
      end

      def seconds
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield
        Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      end

      test "a waiting thread can be killed" do
        assert_operator seconds_to_kill { loop { @consumer.wait(60_000) } }, :<, 0.5
      end

      test "a thread that queries metadata can be killed; the query ends by itself" do
        assert_operator seconds_to_kill { @consumer.metadata(nil, 3_000) }, :<, 0.5
        @consumer.close(0)
      end

      test "a timeout ends a wait" do
        taken = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { loop { @consumer.wait(60_000) } } } }

        assert_operator taken, :<, 1 * TestSupport::Wait::TIME_FACTOR
      end

      test "a timeout ends each query to a broker" do
        questions = [
          -> { @consumer.metadata(nil, 3_000) }, -> { @consumer.query_watermarks("a", 0, 3_000) },
          -> { @consumer.offsets_for_times([["a", 0, 1]], 3_000) }, -> { @consumer.cluster_id(3_000) }
        ]
        taken = seconds do
          questions.each { |ask| assert_raises(Timeout::Error) { Timeout.timeout(0.1) { ask.call } } }
        end

        assert_operator taken, :<, 2
        @consumer.close(0)
      end

      test "a close during a query returns at its deadline, and the handle is destroyed when the query ends" do
        asking = Thread.new { @consumer.metadata(nil, 1_500) }
        asking.report_on_exception = false
        wait_until(2) { asking.status == "sleep" }

        assert_operator seconds { @consumer.close(300) }, :<, 1.3
        assert_raises(KafkaError) { asking.value }
      end

      test "a timeout ends the wait for leaving the group, and the consumer is still closed" do
        name = topic
        one = member(name)
        one.await_assignment(1)
        cluster.push_broker_request_errors(1, :leave_group, [[0, 4_000]])
        cluster.push_broker_request_errors(1, :heartbeat, [[0, 4_000]])
        cluster.push_broker_request_errors(1, :offset_commit, [[0, 4_000]] * 3)
        one.consumer.commit(2, [[name, 0, 2]])
        observe_for(0.1)
        taken = seconds do
          assert_raises(Timeout::Error) { Timeout.timeout(0.3) { one.consumer.close(30_000) } && observe_for(1) }
        end

        assert_operator taken, :<, 3
        assert_predicate one.consumer, :closed?
        wait_until(10, "the answer came, and the handle is gone") { one.consumer.state == :closed }
      ensure
        %i[leave_group heartbeat offset_commit].each { |api| cluster.clear_request_errors(api) }
      end

      test "a close from another thread ends a wait" do
        waiting = Thread.new { loop { @consumer.wait(60_000) } }
        waiting.report_on_exception = false
        wait_until(2) { waiting.status == "sleep" }

        assert_operator seconds { @consumer.close(5_000) }, :<, 2
        assert_raises(HandleClosedError) { waiting.value }
      end

      test "wake-ups and closes from many threads at the same time end correctly" do
        threads = Array.new(4) { Thread.new { 500.times { @consumer.wakeup } } }
        closers = Array.new(3) { Thread.new { @consumer.close(2_000) } }
        [*threads, *closers].each(&:join)

        assert_equal :closed, @consumer.state
        assert_raises(HandleClosedError) { @consumer.poll_event }
      end

      PROGRAM = <<~RUBY
        require "penstock/native/consumer"
        consumer = Penstock::Native::Consumer.new(
          "bootstrap.servers" => "127.0.0.1:1", "group.id" => "g", "log_level" => "0"
        )
        %s
      RUBY

      def program(body, **options)
        TestSupport::RubyProgram.run(format(PROGRAM, body), timeout: 15, **options)
      end

      test "Ctrl-C ends a wait in the main thread" do
        output, result = program(<<~RUBY)
          Thread.new { Thread.pass until Thread.main.status == "sleep"; Process.kill(:INT, Process.pid) }
          begin
            loop { consumer.wait(60_000) }
          rescue Interrupt
            puts "interrupted"
          end
          consumer.close(1_000)
        RUBY

        assert_predicate result, :success?, output
        assert_includes output, "interrupted"
      end

      test "a signal handler may wake the loop, and may close" do
        output, result = program(<<~RUBY)
          trap(:USR1) { consumer.wakeup }
          trap(:USR2) { consumer.close(1_000); puts "closed in a trap" }
          steps = Queue.new
          Thread.new { steps.pop && Process.kill(:USR1, Process.pid); steps.pop && Process.kill(:USR2, Process.pid) }
          consumer.wait(100) # what a new consumer has to say
          steps << :wake
          puts "woken" if consumer.wait(60_000)
          steps << :close
          begin
            loop { consumer.wait(60_000) }
          rescue Penstock::HandleClosedError
            puts "the loop sees it"
          end
        RUBY

        assert_predicate result, :success?, output
        assert_includes output, "closed in a trap\nthe loop sees it"
      end

      test "close works in at_exit, and an open consumer doesn't keep a process from exiting" do
        closed, first = program("at_exit { consumer.close(1_000); puts consumer.state }")
        open, second = program("puts consumer.state")

        assert_predicate first, :success?, closed
        assert_includes closed, "closed"
        assert_predicate second, :success?, open
        assert_operator second.seconds, :<, 10
      end

      test "exit! while a thread waits ends the process" do
        _, result = program(<<~RUBY)
          waiting = Thread.new { loop { consumer.wait(60_000) } }
          Thread.pass until waiting.stop?
          exit!(0)
        RUBY

        assert_predicate result, :success?
      end
    end
  end
end
