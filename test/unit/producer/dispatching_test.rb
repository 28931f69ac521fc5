# frozen_string_literal: true

require "test_helper"
require "penstock/producer"

module Penstock
  class ProducerDispatchingTest < TestCase
    def producer
      @producer ||= Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.deliver = false
        yield config if block_given?
      end
    end

    def teardown
      @producer&.close
      super
    end

    test "what is made ready on one thread is handed over on another, without middleware or checks" do
      runs = 0
      producer.middleware.append(->(message) { (runs += 1) && message.merge(key: "k") })
      ready = producer.ready({topic: :dead, payload: "p", label: 1, handle: false, headers: {"a" => "b"}})

      handle = Thread.new { producer.dispatch(ready) }.value
      assert_equal ["dead", true, 1], [handle.topic, handle.done?, runs]
      assert_predicate handle.create_result, :delivered?
    end

    test "what can't be sent is refused when it is made ready" do
      assert_raises(MessageInvalidError) { producer.ready({topic: "dead", payload: 5}) }
    end

    test "a producer that isn't connected, or is closed, refuses at once" do
      assert_raises(ProducerClosedError) { producer.dispatch({topic: "dead", payload: "p"}) }
      ready = producer.ready({topic: "dead", payload: "p"})
      producer.close
      assert_raises(ProducerClosedError) { producer.dispatch(ready) }
    end
  end
end
