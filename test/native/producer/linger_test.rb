# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

# A lone synchronous message must not wait for linger.ms: during such a wait, a flush is kept open.
class NativeProducerLingerTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  LINGER_MS = 400

  # Of the block, in ms; `before` isn't measured.
  def median(before = nil)
    times = Array.new(9) do
      before&.call
      seconds { yield } * 1_000
    end
    times.sort[times.size / 2]
  end

  # Its broker's answers take longer than the flush for a lone message.
  def distant_producer
    cluster.set_rtt(1, 20)
    producer(linger_ms: LINGER_MS)
  end

  def helpers
    Dir.glob("/proc/self/task/*/comm").count { |path| name_of(path) == "pk:flush" }
  end

  def name_of(path)
    File.read(path).strip
  rescue Errno::ENOENT, Errno::ESRCH
    nil
  end

  test "an urgent wait doesn't take linger.ms, an asynchronous one does" do
    native = producer(linger_ms: LINGER_MS)
    dispatch(native).wait(10_000)
    sync = median { native.sync_wait(dispatch(native), 10_000) }
    # Messages produced while the last flush is still open are also sent at once.
    wait_until(10, "an idle helper to end") { helpers.zero? }
    async = seconds { dispatch(native).wait(10_000) } * 1_000

    assert_operator sync, :<, LINGER_MS / 3
    assert_operator async, :>, LINGER_MS / 2
  end

  test "the helper is one thread, starts with the first wait and ends when it has been idle" do
    native = distant_producer
    assert_equal 0, helpers
    Array.new(8) { Thread.new { 3.times { native.sync_wait(dispatch(native), 10_000) } } }.each(&:join)

    assert_equal 1, helpers
    wait_until(10, "an idle helper to end") { helpers.zero? }
    assert native.sync_wait(dispatch(native), 10_000)
    assert_equal 1, helpers
  end

  test "a synchronous wait during thousands of other messages doesn't take linger.ms" do
    native = distant_producer
    native.sync_wait(dispatch(native), 10_000)
    others = -> { 2_000.times { dispatch(native, handle: false) } }
    beside = median(others) { native.sync_wait(dispatch(native), 10_000) }

    assert_operator beside, :<, LINGER_MS / 2
  end

  test "without linger there is no helper" do
    native = producer(linger_ms: 0)
    native.sync_wait(dispatch(native), 10_000)

    assert_equal 0, helpers
  end

  test "a lone message to a nearby broker needs no helper" do
    native = producer(linger_ms: LINGER_MS)
    5.times { native.sync_wait(dispatch(native), 10_000) }

    assert_operator helpers, :<=, 1
    assert_operator median { native.sync_wait(dispatch(native), 10_000) }, :<, LINGER_MS / 3
  end

  test "close ends the helper" do
    native = distant_producer
    native.sync_wait(dispatch(native), 10_000)
    native.close(5_000)

    wait_until(5, "the helper to end") { helpers.zero? }
    assert_equal 0, helpers
  end

  test "after a wait that times out the helper becomes idle" do
    native = stranded_producer(linger_ms: LINGER_MS)
    refute native.sync_wait(dispatch(native), 50)

    wait_until(10, "an idle helper to end") { helpers.zero? }
    assert_equal 0, helpers
  end
end
