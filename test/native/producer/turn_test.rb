# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

# A thread that dispatches without an end lets those come to their turn whose delivery was resolved. What it calls here sends
# nothing, so that no broker's pace is measured: only how often it is called until the other one has gone on.
class NativeProducerTurnTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  NOTHING = {}.freeze

  # In the quantum of a thread there are ten times as many on a busy machine, and who has no turn of its own waits for its end.
  CALLS = 10_000
  ROUNDS = 30

  # Its reports come while another thread runs, once everybody is where they wait.
  def distant_producer
    cluster.set_rtt(1, (60 * Penstock::TestSupport::Wait::TIME_FACTOR).ceil)
    producer(linger_ms: 0).tap { |native| native.sync_wait(dispatch(native), nil) }
  end

  # @yield waits until the delivery is resolved
  # @return [Integer] calls from then on until who waited has gone on; at most one more than CALLS, so many too where it was
  #   resolved before anybody waited
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

  # Once is enough: the machine may have others to run than the thread that is woken.
  #
  # @yieldparam native [Penstock::Native::Producer]
  # @yieldparam delivery [Penstock::Native::Delivery]
  # @yieldreturn [#call] what waits for it
  def assert_comes_on
    native = distant_producer
    quick = (1..ROUNDS).find do
      delivery = dispatch(native)
      wait = yield(native, delivery)
      calls_until_on(native, delivery, &wait) <= CALLS
    end

    assert quick, "who waited had to wait for #{CALLS} calls of another thread, #{ROUNDS} times"
  end

  test "a thread whose delivery was resolved comes on beside one that dispatches without an end" do
    assert_comes_on { |native, delivery| -> { native.sync_wait(delivery, nil) } }
  end

  test "a thread that waits as a scheduler does for what its fibers wait for comes on beside one that dispatches without an end" do
    assert_comes_on do |_, delivery|
      watched = Penstock::Native::Watched.new
      watched.watch(delivery, 1, nil, false)
      io = IO.for_fd(watched.fd, autoclose: false)
      -> { IO.select([io]) && watched.take([]).any? }
    end
  end

  test "what others close while a dispatch gives way is seen to be closed" do
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
