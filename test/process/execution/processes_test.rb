# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/child_context"
require "penstock/execution/processes/pool"
require "support/child"
require "support/executing"

module Penstock
  class ExecutionProcessesTest < TestCase
    include TestSupport::Executing

    # Mold and children end by themselves, within seconds.
    def grace_seconds = 6

    def executor(middleware, size)
      @lost = Thread::Queue.new
      child_context = Execution::Processes::ChildContext.new(topics: [@topic], middleware: middleware, monitor: @monitor,
        clock: Clock::SYSTEM, critical: [SystemExit], producer: -> {}, close_producer: ->(_ms) {},
        threads: @threads, adopt: ->(_) {})
      Execution::Processes::Pool.new(child_context: child_context, queue: @queue, size: size, local: runner(middleware),
        lost: ->(error) { @lost << error })
    end

    def alive?(pid)
      ::Process.kill(0, pid)
      true
    rescue Errno::ESRCH
      false
    end

    def mold = @executor.instance_variable_get(:@mold).pid
    def descriptors = Dir.children("/proc/self/fd").size

    test "[worker killed] a record that kills its process is blamed by offset and signal; marks before it count; the next runs" do
      executing do
        def consume
          messages.each do |message|
            ::Process.kill(:KILL, ::Process.pid) if message.offset == 6
            mark_as_consumed(message)
          end
        end
      end
      place = lane
      result = run_unit([4, 5, 6, 7], at: place)

      assert_instance_of WorkerDied, result.error
      assert_equal [9, nil, 6], [result.error.signal, result.error.exit_code, result.error.offset]
      assert_equal [6, 6], [result.blamed, place.marks.through]
      assert_match(/ended by SIGKILL while it ran orders\/0 at offset 6/, result.error.message)
      assert_nil run_unit([7]).error
    end

    test "exit! is reported with its code; without a cursor the last record is blamed" do
      executing do
        def consume = exit!(7)
      end
      result = run_unit([1, 2])

      assert_equal [nil, 7, 2], [result.error.signal, result.error.exit_code, result.blamed]
      assert_equal "consumer.consume.error", @errors.pop[:type]
    end

    test "records that were sent along with a killer run in another process, without being blamed" do
      executing(size: 1) do
        def consume
          offset = messages.first.offset
          ::Process.kill(:KILL, ::Process.pid) if offset == 150
          log(offset)
        end
      end
      place = lane
      wide = slot(place, width: 1_000)
      300.times { |offset| push(place, unit(place, [offset]), wide) }
      outcomes = Array.new(300) { outcome }
      failed = outcomes.select(&:error)

      assert_equal [150], failed.map { |one| one.error.offset }
      assert_equal (0...300).to_a, outcomes.map { |one| one.unit.messages.first_offset }.sort
    end

    test "units that wait after an unexpectedly long one move to another process" do
      executing(size: 2) do
        def consume
          until_stopping if messages.first.offset == 200
        end
      end
      place = lane
      wide = slot(place, width: 1_000)
      400.times { |offset| push(place, unit(place, [offset]), wide) }
      399.times { outcome }

      assert_equal [[200]], @executor.running.map { |_thread, one| one.messages.map(&:offset) }
      @link.stopping = true
      outcome
    end

    test "a filter that ends its thread fails its unit; units in the child continue with another thread" do
      executing(size: 1) do
        def consume
          log("began")
          until_stopping if messages.first.offset == 3
        end
      end
      @executor.instance_variable_get(:@local).define_singleton_method(:call) { |*| Thread.exit }
      place = lane
      wide = slot(place, width: 10)
      push(place, unit(place, [3]), wide)
      told
      push(place, unit(place, [4], action: :prepare), wide)
      push(place, unit(place, [5]), wide)
      @link.stopping = true
      ended = Array.new(3) { outcome }

      assert_equal [3, 4, 5], ended.map { |one| one.unit.messages.first_offset }.sort
      assert_equal({3 => nil, 4 => InternalError, 5 => nil},
        ended.to_h { |one| [one.unit.messages.first_offset, one.error&.class] })
      assert_equal "worker.process.error", @errors.pop[:type]
      assert_equal [1, true], [@executor.size, @executor.close(5)]
      @executor = nil
    end

    test "a listener that ends the thread before its unit is sent fails the unit; the next one runs" do
      executing(size: 1) { def consume = log("ran", messages.first.offset) }
      ends = [true, false, true, false]
      @monitor.subscribe("consumer.consume") { Thread.exit if ends.shift }
      place = lane
      results = Array.new(4) { |offset| run_unit([offset], at: place) }

      assert_equal [InternalError, NilClass] * 2, results.map { |one| one.error.class }
      assert_equal ["ran 1", "ran 3"], [told, told]
    end

    test "a retry strategy that ends its thread fails its unit, also when the child has died" do
      executing(size: 1) do
        def consume
          case messages.first.offset
          when 0 then raise("bad")
          when 1 then ::Process.kill(:KILL, ::Process.pid)
          end
        end
      end
      reply = @executor.instance_variable_get(:@reply)
      reply.instance_variable_set(:@callback_results, ->(*) { Thread.exit })
      place = lane
      results = [0, 1, 2].map { |offset| run_unit([offset], at: place) }

      assert_equal [InternalError, InternalError, NilClass], results.map { |one| one.error.class }
    end

    test "twenty deaths leave no descriptor and no zombie" do
      executing(size: 1) do
        def consume = ::Process.kill(:KILL, ::Process.pid)
      end
      run_unit([0])
      before = descriptors
      20.times { |offset| assert_instance_of WorkerDied, run_unit([offset]).error }

      assert_operator descriptors, :<=, before
      states = Dir.glob("/proc/#{mold}/task/*/children").flat_map { |path| File.read(path).split }
      assert_operator states.size, :<=, 1
    end

    test "user code that doesn't end within a stop's time is killed with its process" do
      executing do
        def consume
          log("began")
          Thread.handle_interrupt(Exception => :never) { wait_for_ever }
        end
      end
      place = lane
      push(place, unit(place, [3]))
      told
      @executor.interrupt([place])

      refute @executor.close(0.3)
      assert_instance_of WorkerDied, outcome.error
      @executor = nil
    end

    test "[time_limit] user code that an interrupt can't reach is killed with its process, and only that" do
      executing do
        def consume
          log("began")
          Thread.handle_interrupt(Exception => :never) { wait_for_ever } if messages.first.offset == 3
        end
      end
      place = lane
      push(place, unit(place, [3]))
      told
      @executor.interrupt([place])

      assert_equal 9, outcome.error.signal
      assert_nil run_unit([4]).error
    end

    test "without the mold children end, the application is notified, and units that haven't run don't fail" do
      executing do
        def consume = log(::Process.pid) && until_stopping
      end
      place = lane
      push(place, unit(place, [0]))
      child = Integer(told)
      ::Process.kill(:KILL, mold)

      refute_nil outcome.error
      wait_until(5, "the child's end") { !alive?(child) }
      assert_kind_of InternalError, @lost.pop
      waiting = slot(place)
      untried = push(place, unit(place, [1]), waiting)
      wait_until(5, "the report", state: -> { @errors.size }) { @errors.size == 2 }
      assert_match(/process #{mold}, from which others are forked, is gone/, drained(@errors).last[:error].message)
      assert_equal [untried], @queue.withdraw(waiting)
    end

    test "a unit waits, uncounted, until a process can be created" do
      executing { def consume = log("attempt", attempt) }
      refusals = [Errno::EAGAIN, Errno::EMFILE]
      @executor.instance_variable_get(:@mold).define_singleton_method(:request_child) do |*ios|
        refusals.empty? ? super(*ios) : raise(refusals.shift)
      end
      place = lane
      push(place, unit(place, [0]))
      wait_until(10, "an outcome", state: -> { @queue.snapshot }) do
        @executor.start_missing
        !@mailbox.empty?
      end

      assert_nil outcome.error
      assert_equal "attempt 1", told
      assert_equal ["penstock process"], drained(@errors).map { |error| error[:type] }.uniq
    end

    test "data that user code writes into the socket end its process, not the application" do
      executing do
        def consume
          socket = ObjectSpace.each_object(UNIXSocket).reject(&:closed?).max_by(&:fileno)
          socket.write("\x00garbage" * 10)
          wait_for_ever
        end
      end

      assert_instance_of WorkerDied, run_unit([0]).error
    end

    test "signals to the process group don't reach user code" do
      executing do
        def consume
          %i[INT TERM QUIT HUP USR1 TSTP].each { |name| ::Process.kill(name, ::Process.pid) }
          log("alive")
        end
      end

      assert_nil run_unit([0]).error
      assert_equal "alive", told
    end

    test "[orphans] when the application is killed mold and children end, also one that computes in C" do
      pids = orphaned(<<~RUBY)
        def consume
          log(::Process.pid)
          ("a" * 40) =~ /(a+)+$x/ while true
        end
      RUBY

      wait_until(6, "the end of #{pids}", state: -> { pids.select { |pid| alive?(pid) } }) { pids.none? { |pid| alive?(pid) } }
      assert_equal 2, pids.size
    ensure
      pids&.each { |pid| ::Process.kill(:KILL, pid) if alive?(pid) } # remaining processes would compute forever
    end

    private

    # Runs an application with a pool in a process of its own, kills it, and returns the pids of mold and child.
    def orphaned(consume)
      out, into = IO.pipe
      hears, ours = IO.pipe
      program = File.expand_path("support/orphans.rb", __dir__)
      pid = ::Process.spawn({"CONSUME" => consume}, RbConfig.ruby, "-Itest", "-Ilib", program, in: hears, out: into)
      [into, hears].each(&:close)
      pids = Array.new(2) { Integer(out.gets) }
      ::Process.kill(:KILL, pid)
      ::Process.wait(pid)
      pids
    ensure
      [out, ours].each { |pipe| pipe&.close }
    end
  end
end
