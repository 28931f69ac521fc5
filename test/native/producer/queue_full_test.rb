# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

class NativeProducerQueueFullTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  LIMIT = 10

  def fill(native)
    accepted = []
    while (delivery = dispatch(native))
      accepted << delivery
    end
    accepted
  end

  test "a full queue refuses at once, without a report or any other effect" do
    native = stranded_producer(queue_buffering_max_messages: LIMIT)

    assert_equal LIMIT, fill(native).size
    assert_raises(Penstock::QueueFullError) { native.produce("things", "x") }
    assert_equal LIMIT, native.queue_size
  end

  test "served reports make room" do
    native = stranded_producer(queue_buffering_max_messages: LIMIT, message_timeout_ms: 500)
    fill(native)
    ticket = native.ticket

    assert native.wait_for_room(ticket, 20_000)
    assert dispatch(native)
  end

  test "room that was made after the ticket is not missed" do
    native = stranded_producer(queue_buffering_max_messages: LIMIT)
    fill(native)
    ticket = native.ticket
    native.purge
    assert native.flush(10_000)

    assert native.wait_for_room(ticket, 5_000), "it is reported right after the flush has ended"
  end

  test "waiting for room ends at its timeout" do
    native = stranded_producer(queue_buffering_max_messages: LIMIT)
    fill(native)

    refute native.wait_for_room(native.ticket, 50)
  end

  test "of a slice that doesn't fit, only a prefix is accepted" do
    native = stranded_producer(queue_buffering_max_messages: LIMIT)
    messages = Array.new(LIMIT + 5) { |index| {topic: "things", payload: index.to_s, headers: {"a" => "b"}} }
    accepted = []

    assert_equal Penstock::QueueFullError.new.number, native.dispatch_slice(messages, 0, true, accepted)
    assert_equal LIMIT, accepted.size
    assert_equal LIMIT, native.queue_size
  end

  test "labels of refused messages are dropped" do
    native = stranded_producer(queue_buffering_max_messages: LIMIT)
    native.want(Penstock::Native::Producer::WANT_FAILED)
    fill(native)

    assert_nil dispatch(native, label: Object.new)
    native.purge
    rows = wait_until(10, "reports") { (@rows ||= []).concat(native.take_reports(256)).size >= LIMIT && @rows }
    assert_equal [nil], rows.map(&:first).uniq
  end
end
