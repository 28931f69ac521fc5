# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/execution/fibers/gate"
require "penstock/execution/fibers/pool"
require_relative "execution_contract"
require_relative "executor_contract"
require_relative "records_contract"
require_relative "wrapper_contract"

module Penstock
  class ExecutionInFibersTest < TestCase
    include TestSupport::Executing

    ExecutionContract.add_to(self)
    ExecutorContract.add_to(self)
    RecordsContract.add_to(self)
    WrapperContract.add_to(self)

    def executor(middleware, _size, threads: 1, most: 1_000)
      @blocked = Thread::Queue.new
      Execution::Fibers::Pool.new(queue: @queue, runner: runner(Execution::Fibers::Gate.new(middleware)), threads: @threads,
        size: threads, most: most, report: ->(name, payload) { @blocked << [name, payload] })
    end

    test "a thousand units wait at the same time on one thread" do
      executing do
        def consume = wait_for_ever
      end
      place = lane
      wide = slot(place, width: 1_000)
      1_000.times { |offset| push(place, unit(place, [offset]), wide) }
      wait_until(10, "all of them") { @executor.running.size == 1_000 }

      assert_equal 1, @executor.running.map(&:first).uniq.size
      @executor.interrupt([place])
      assert_equal [Interrupted], Array.new(1_000) { outcome.error.class }.uniq
    end

    test "at most the maximum number of units run at once" do
      executing(most: 3) do
        def consume = until_stopping
      end
      place = lane
      wide = slot(place, width: 10)
      10.times { |offset| push(place, unit(place, [offset]), wide) }
      wait_until(5, "three") { @executor.running.size == 3 }
      observe_for(0.1)

      assert_equal 3, @executor.running.size
      @link.stopping = true
      10.times { outcome }
    end

    test "several threads share the work" do
      executing(threads: 2, most: 5) do
        def consume = until_stopping
      end
      place = lane
      wide = slot(place, width: 10)
      10.times { |offset| push(place, unit(place, [offset]), wide) }
      wait_until(5, "ten on two threads") { @executor.running.size == 10 }

      assert_equal 2, @executor.running.map(&:first).uniq.size
      @link.stopping = true
      10.times { outcome }
    end

    test "user code that blocks the thread is reported once, with its location" do
      executing do
        def consume = computes

        def computes
          nil until stopping?
        end
      end
      place = lane
      push(place, unit(place, [0]))
      wait_until(20, "the event") { !@blocked.empty? }
      observe_for(0.7)
      @link.stopping = true
      assert_nil outcome.error
      name, event = @blocked.pop

      assert_equal ["fibers.blocked", "orders", 0], [name, event[:topic], event[:partition]]
      assert_operator event[:waited_ms], :>=, 1_000
      assert(event[:backtrace].any? { |line| line.include?("computes") })
      assert_predicate @blocked, :empty?
    end

    test "a unit that ends its thread fails together with all others of the thread, and the next units get another thread" do
      executing do
        def consume
          until_true { partition == 1 || stopping? }
          Thread.exit if partition == 1
        end
      end
      first = lane(0)
      push(first, unit(first, [0]))
      wait_until(5, "the first") { @executor.running.size == 1 }
      second = lane(1)
      push(second, unit(second, [0]))
      errors = [outcome, outcome].to_h { |one| [one.unit.lane, one.error] }

      assert_instance_of InternalError, errors[second]
      refute_nil errors[first]
      @link.stopping = true
      assert_nil run_unit([1], at: lane(2)).error
    end

    test "user code may load and read files, and wait for pipes" do
      executing do
        def consume
          Dir.mktmpdir do |folder|
            path = File.join(folder, "loaded_in_a_fiber.rb")
            File.write(path, "LOADED_IN_A_FIBER = 1")
            require path
            log([LOADED_IN_A_FIBER, File.size(path) == File.read(path).size, answer].inspect)
          end
        end

        def answer = IO.popen(%w[echo yes], &:read).chomp
      end

      assert_nil run_unit([0]).error
      assert_equal '[1, true, "yes"]', told
    end

    # Newer Rubies pass the error on to the inner fiber.
    test "a unit that waits in a fiber of its own delays its own interrupt at most, not those of others" do
      executing do
        def consume
          Fiber.new { until_stopping }.resume if partition.zero?
          wait_for_ever
        end
      end
      places = [lane(0), lane(1)]
      places.each { |place| push(place, unit(place, [0])) }
      wait_until(5, "both") { @executor.running.size == 2 }
      @executor.interrupt(places)
      wait_until(5, "the interrupt of the other", state: -> { @executor.running }) { @executor.running.size < 2 }
      @link.stopping = true

      assert_equal [[0, Interrupted], [1, Interrupted]],
        Array.new(2) { outcome }.map { |one| [one.unit.lane.partition, one.error.class] }.sort_by(&:first)
      reports = drained(@errors).select { |error| error[:type] == "penstock fibers" }.map { |error| error[:error].message }
      assert_equal [], reports.grep_v(/Interrupted doesn't reach user code of orders\/0 yet/)
      assert_equal 1, reports.size if RUBY_VERSION < "3.2"
    end

    test "a timeout in user code ends its own wait, and nothing else" do
      executing do
        def consume
          Timeout.timeout(0.05) { wait_for_ever }
        rescue Timeout::Error
          log("too long")
        end
      end

      assert_nil run_unit([0]).error
      assert_equal "too long", told
    end

    test "an interrupt before user code has begun is delayed until then" do
      place = Execution::Fibers::Gate::Place.new(nil, nil)
      place.interrupt(Interrupted.new)

      assert_raises(Interrupted) { place.open }
    end
  end
end
