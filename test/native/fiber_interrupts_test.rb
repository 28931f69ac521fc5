# frozen_string_literal: true

require "test_helper"
require "penstock/native/producer"
require "support/native_producing"
require "support/small_scheduler"

# An interrupt of a thread whose fibers wait for deliveries (Thread#raise, an exception in a signal handler, a kill) arrives in
# the fiber that is running. It ends that fiber's wait, at any point of it, and no other wait.
class NativeFiberInterruptsTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  class Ended < StandardError; end

  # Before and after each of these Ruby may check for interrupts.
  PLACES = %i[rest lead follow settle_all settle rouse].freeze

  # Raises an interrupt at one of these places, which are counted, for the thread that requested it.
  module Interrupted
    PLACES.each do |name|
      define_method(name) do |*arguments|
        thread = Thread.current
        thread.thread_variable_get(:place)&.call
        super(*arguments).tap { thread.thread_variable_get(:place)&.call }
      end
      private name
    end
  end
  Penstock::Native::FiberGroup.prepend(Interrupted)

  # Time passes here when no fiber is ready.
  class Scheduler < Penstock::TestSupport::SmallScheduler
    def initialize
      super
      @limited = []
    end

    # A fiber that it wakes may be interrupted right there.
    def block(blocker, timeout = nil)
      @limited << Fiber.current if timeout
      super.tap { Thread.current.thread_variable_get(:place)&.call unless timeout }
    ensure
      @limited.delete(Fiber.current)
    end

    def turn
      unblock(:time, @limited.first) if @limited.any? && @ready.empty?
      super
    end

    def idle? = @ready.empty? && @limited.empty?
  end

  # @return [Boolean] whether the block reached that place
  def interrupted_at(number)
    thread = Thread.current
    places = 0
    thread.thread_variable_set(:place, -> { thread.raise(Ended) if (places += 1) == number })
    yield
    places >= number
  ensure
    thread.thread_variable_set(:place, nil)
  end

  # A fiber that has waited for a delivery waits for something else, from which only the test wakes it.
  def wait_and_rest(scheduler, delivery, seen)
    scheduler.fiber do
      begin
        seen << delivery.wait_in_fiber(nil)
      rescue Ended
        seen << :ended
      end
      scheduler.block(:rest)
      seen << :woken
    end
  end

  # @param seen [Array] filled with the results of three waits
  # @return [Boolean] whether one was interrupted
  def three_wait(native, number, seen)
    Fiber.set_scheduler(scheduler = Scheduler.new)
    fibers = []
    interrupted_at(number) do
      3.times { fibers << wait_and_rest(scheduler, dispatch(native), seen) }
      native.purge
      scheduler.turn until seen.size >= 3 && scheduler.idle?
    end
  ensure
    fibers.each { |fiber| scheduler.unblock(:rest, fiber) }
  end

  # @return [Array] the results of the waits with an interrupt at that place; and whether there was one
  def interrupting(native, number)
    seen = []
    ended = came = nil
    thread = Thread.new do
      came = three_wait(native, number, seen)
      ended = seen.dup
    end
    thread.report_on_exception = false
    assert thread.join(40 * Penstock::TestSupport::Wait::TIME_FACTOR), "who waits isn't woken: interrupt at place #{number}"
    [ended, came]
  end

  test "wherever an interrupt arrives it ends at most one wait, and wakes no fiber from its next wait" do
    native = stranded_producer(linger_ms: 0)
    places = (1..1_000).find do |number|
      ended, came = interrupting(native, number)
      assert_equal [true, true], ended - [:ended], "place #{number}: #{ended}" if came
      assert_equal [true] * 3, ended unless came
      !came
    end

    assert_operator places, :>, 20
  end
end
