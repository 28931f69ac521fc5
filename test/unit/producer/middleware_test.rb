# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/middleware"
require "penstock/testing/buffered_client"

class ProducerMiddlewareTest < Penstock::TestCase
  def step(name)
    ->(message) { message.merge(path: [*message[:path], name]) }
  end

  test "[Middleware order] prepended steps run before appended ones, each once" do
    middleware = Penstock::Producer::Middleware.new
    middleware.append(step(:second)).prepend(step(:first)).append(step(:third))

    assert_equal %i[first second third], middleware.run({})[:path]
  end

  test "middleware without steps returns the message unchanged" do
    middleware = Penstock::Producer::Middleware.new
    message = {topic: "orders"}

    assert_predicate middleware, :empty?
    assert_same message, middleware.run(message)
  end

  def wrapper(calls, name)
    lambda do |type, messages, &block|
      calls << [name, type, messages.size]
      block.call(messages.map { |message| message.merge(headers: {**message[:headers].to_h, name => "1"}) })
    end
  end

  def producer(*wrappers, **kafka)
    Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:9", **kafka}
      config.client_class = Penstock::Testing::BufferedClient
      config.logger = Logger.new(nil)
      wrappers.each { |wrapper| config.middleware.around(wrapper) }
    end
  end

  def order(**more) = {topic: "orders", payload: "1", **more}

  test "[Middleware order] wrappers run around each call, the first outermost, outside of steps, and may replace messages" do
    calls = []
    one = producer(wrapper(calls, "outer"), wrapper(calls, "inner"))
    one.middleware.append(->(message) { calls << [:step] && message })
    one.produce_async(order)
    one.produce_sync(order(handle: false))
    one.produce_many_async([order] * 2, handle: false)
    one.produce_many_sync([order] * 3)

    assert_equal [["outer", "message.produce_async", 1], ["inner", "message.produce_async", 1], [:step]], calls.first(3)
    assert_equal %w[message.produce_async message.produce_sync messages.produce_many_async messages.produce_many_sync],
      calls.filter_map { |name, type| type if name == "outer" }
    assert_equal [{"outer" => "1", "inner" => "1"}], one.client.messages.map { |message| message[:headers] }.uniq
    assert_equal 7, one.client.messages.size
  ensure
    one&.close
  end

  test "a call in a transaction of its own is wrapped once, outside of it; so is a message that is prepared" do
    calls = []
    one = producer(wrapper(calls, "w"), "transactional.id": "t")
    one.monitor.subscribe("transaction.committed") { calls << :committed }
    one.produce_sync(order)
    one.produce_many_sync([order] * 2)
    one.ready(order)

    assert_equal [["w", "message.produce_sync", 1], :committed, ["w", "messages.produce_many_sync", 2], :committed,
      ["w", "message.ready", 1]], calls
  ensure
    one&.close
  end

  test "messages that a flush couldn't send go back to the buffer as they were, and are wrapped again" do
    calls = []
    one = producer(wrapper(calls, "w"))
    one.buffer(order)
    one.middleware.around(->(type, messages, &block) {
      (type == "messages.buffer") ? block.call(messages) : raise(IOError, "no")
    })

    assert_raises(IOError) { one.flush_sync }
    assert_equal [{"w" => "1"}], one.messages.map { |message| message[:headers] }
    assert_equal [["w", "messages.buffer", 1], ["w", "messages.produce_many_sync", 1]], calls
  ensure
    one&.purge
    one&.close
  end

  test "a wrapper that yields something else than messages, or doesn't yield, is an error: nothing is sent silently" do
    {nil => /yielded NilClass to message.produce_sync, which takes an Array with one message/, [] => /yielded 0 messages/,
     [order, order] => /yielded 2 messages/}.each do |yielded, text|
      one = producer(->(_type, _messages, &block) { block.call(yielded) })
      assert_match(text, assert_raises(Penstock::MessageInvalidError) { one.produce_sync(order) }.message)
      assert_empty one.client.messages
      one.close
    end
    one = producer(->(*) { :sent })
    %i[produce_sync produce_many_sync].each do |way|
      error = assert_raises(Penstock::UnsupportedCaseError) { one.public_send(way, (way == :produce_sync) ? order : [order]) }
      assert_match(/returned without yielding: nothing was sent by messages?\.#{way}/, error.message)
    end
    assert_raises(Penstock::UnsupportedCaseError) { one.buffer(order) }
    one.close
  end

  test "an object without call can't be a wrapper; one that was added already isn't added again" do
    middleware = Penstock::Producer::Middleware.new
    error = assert_raises(ArgumentError) { middleware.around(:tracing) }
    calls = []
    one = wrapper(calls, "w")
    2.times { middleware.around(one) }
    middleware.wrapper.call("message.produce_sync", [{}]) { |own| own }

    assert_includes error.message, ":tracing can't wrap calls of a producer: it needs a method call(type, messages)"
    assert_equal 1, calls.size
    refute_predicate middleware, :empty?
  end

  test "[traces] a producer without a wrapper allocates nothing for it" do
    one = producer
    pipeline, messages = one.instance_variable_get(:@pipeline), [order]
    counts = %i[wrap_one wrap].map { |way| allocated { pipeline.__send__(way, "type", messages) { |own| own } } }
    one.middleware.around(->(_type, own, &block) { block.call(own) })
    wrapped = allocated { pipeline.__send__(:wrap_one, "type", messages.first) { |own| own } }

    assert_equal [0, 0], counts
    assert_operator wrapped, :>, 0
  ensure
    one&.close
  end

  def allocated
    3.times { yield } # the first calls create objects once
    GC.disable
    Array.new(5) do
      before = GC.stat(:total_allocated_objects)
      20.times { yield }
      GC.stat(:total_allocated_objects) - before
    end.min
  ensure
    GC.enable
  end
end
