# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

# User code that raises fails its own message, is reported, and affects nothing else.
class ProducerUserCodeTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  class Choke < StandardError; end

  # Raises for one message; a partitioner is such a step too.
  CHOKE = lambda do |message|
    raise Choke, "no" if message[:payload] == "bad"

    message.merge(partition: message[:payload].to_s.size % 2)
  end

  def sender
    @sender ||= connected_api { |config| config.middleware.append(CHOKE) }
  end

  def errors
    @errors ||= events_of(sender, "error.occurred")
  end

  def types
    all_of(errors).map { |event| event[:type] }
  end

  test "a middleware step, or a partitioner, that raises fails its own message" do
    errors
    [-> { sender.produce_sync(thing("bad")) }, -> { sender.produce_async(thing("bad")) },
      -> { sender.produce_many_sync([thing("a"), thing("bad")]) }, -> { sender.ready(thing("bad")) }].each do |use|
      assert_raises(Choke) { use.call }
    end

    assert_equal ["producer.middleware.error"] * 4, types
    reports = [sender.produce_sync(thing("a")), sender.produce_sync(thing("ab"))]

    assert_equal [[1, 0], [0, 0]], reports.map { |report| [report.partition, report.offset] }, "of many nothing was sent"
  end

  test "a buffered message for which middleware raises leaves the buffer unchanged, in order" do
    seen = []
    sender.middleware.prepend(->(message) { message.tap { seen << message[:payload] } })
    errors
    sender.buffer_many([thing("a"), thing("bad"), thing("c")])
    assert_raises(Choke) { sender.flush_sync }
    sender.buffer(thing("d"))

    assert_equal %w[a bad c d], sender.messages.map { |message| message[:payload] }
    assert_equal ["producer.middleware.error"], types
    assert_raises(Choke) { sender.flush_async }
    assert_equal %w[a bad bad], seen
  end

  test "at a close it is reported with the undelivered messages, and the others are sent" do
    told = events_of(sender, "producer.undelivered")
    sender.buffer_many([thing("bad"), thing("a")])
    sender.close(timeout_ms: 5_000)

    assert_equal [["bad", Choke]], told.pop[:messages].map { |message| [message[:payload], message[:error].class] }
    assert_predicate sender, :closed?
  end

  test "listeners that raise block nothing, for every kind of event" do
    errors
    %w[message.produced_async message.produced_sync messages.produced_async message.acknowledged message.buffered
      producer.connected producer.closing producer.closed].each { |name| sender.monitor.subscribe(name) { raise Choke, name } }
    heard = events_of(sender, "message.acknowledged")
    handles = [sender.produce_async(thing), *sender.produce_many_async([thing])]
    sender.produce_sync(thing)
    sender.buffer(thing)
    sender.close

    assert(handles.all? { |handle| handle.wait.delivered? })
    assert_equal 4, heard.size
    assert_equal ["instrumentation.listener.error"], types.uniq
  end

  test "labels of any kind are returned, and no method of them is called" do
    label = BasicObject.new
    handle = sender.produce_async(thing(label: label))

    assert_predicate handle.wait, :delivered?
    assert_equal label.__id__, handle.label.__id__
  end
end
