# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

# A thread that dispatches without pause gives way to threads whose delivery was resolved. Its calls here send nothing, so that
# no broker's speed is measured: only the number of calls until the other thread has continued.
class NativeProducerGvlYieldTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  NOTHING = {}.freeze

  # A busy machine makes ten times as many in one quantum of a thread; a thread that gets no turn waits for its end.
  CALLS = 10_000
  ROUNDS = 30

  def teardown
    @completions&.each(&:close)
    super
  end

  def completions = Penstock::Native::Completions.new.tap { |watched| (@completions ||= []) << watched }

  # Its reports come while another thread runs, once all waits have begun.
  def distant_producer
    cluster.set_rtt(1, (60 * Penstock::TestSupport::Wait::TIME_FACTOR).ceil)
    producer(linger_ms: 0).tap { |native| native.sync_wait(dispatch(native), nil) }
  end

  # @yield waits until the delivery is resolved
  # @return [Integer] calls from then on until the waiting thread has continued; at most one more than CALLS, which is also
  #   the result if it was resolved before the wait began
  def calls_until_on(native, delivery)
    on = false
    waiter = Thread.new { on = yield }
    wait_until(40, "a wait") { waiter.stop? }
    return CALLS + 1 if delivery.done?

    native.dispatch(NOTHING) until delivery.done?
    calls = 0
    native.dispatch(NOTHING) until on || (calls += 1) > CALLS
    calls
  ensure
    waiter&.join
  end

  # Once is enough: the machine may have other threads to run than the one that is woken.
  #
  # @yieldparam native [Penstock::Native::Producer]
  # @yieldparam delivery [Penstock::Native::Delivery]
  # @yieldreturn [#call] that waits for it
  def assert_comes_on
    native = distant_producer
    quick = (1..ROUNDS).find do
      delivery = dispatch(native)
      wait = yield(native, delivery)
      calls_until_on(native, delivery, &wait) <= CALLS
    end

    assert quick, "who waited had to wait for #{CALLS} calls of another thread, #{ROUNDS} times"
  end

  test "a thread whose delivery was resolved continues while another one dispatches without pause" do
    assert_comes_on { |native, delivery| -> { native.sync_wait(delivery, nil) } }
  end

  test "a thread that waits like a scheduler for its fibers' deliveries continues while another one dispatches without pause" do
    assert_comes_on do |_, delivery|
      watched = completions
      watched.watch(delivery, 1, nil, false)
      io = IO.for_fd(watched.fd, autoclose: false)
      -> { IO.select([io]) && watched.take([]).any? }
    end
  end

  test "a close by another thread while a dispatch gives way is noticed" do
    5.times do
      native = distant_producer
      delivery = dispatch(native)
      closing = Thread.new { native.sync_wait(delivery, nil) && native.close(0) }
      wait_until(40, "a wait") { closing.stop? }
      native.dispatch(NOTHING) until delivery.done?
      dispatch(native) until native.closed?

      assert_nil dispatch(native)
      assert closing.join(40)
    end
  end
end
