# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "consuming_contract"

module Penstock
  class ConsumingOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    ConsumingContract.add_to(self)

    test "[poll error reporting] an authorization error is reported at once" do
      topic, seen = topic_with(1), queue
      running = consuming(topic) { seen << messages.size }
      take(seen, 1)
      self.class.cluster.inject_errors(:fetch, [:topic_authorization_failed])
      error = wait_until(10, "an error") { !running.errors.empty? && running.errors.pop }

      assert_equal :topic_authorization_failed, error[:error].code
      produce(topic, %w[after])
      assert_equal [1], take(seen, 1)
    ensure
      self.class.cluster.clear_errors(:fetch)
    end

    test "[multi-cluster] topics of two clusters are consumed in one process, and each cluster gets its own commits" do
      other = Testing::Cluster.start
      near, far, seen = topic_with(2), unique("far"), queue
      other.create_topic(far)
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [topic.name, message.raw_payload] } }
      end
      application = build(near, consumer, ->(_) {}, ->(_) {}, {})
      draw(application, far, consumer, ->(_) { kafka other.kafka })
      running = yield_running(application)
      on(other) { produce(far, %w[x y z]) }

      assert_equal [[far, "x"], [far, "y"], [far, "z"], [near, "0"], [near, "1"]], take(seen, 5).sort
      assert_equal 0, running.stop
      assert_equal [2, 3], [committed(near), on(other) { committed(far) }]
      assert_operator on(other) { committed(near) }, :<, 0
    ensure
      running&.stop if running&.alive?
      other&.stop
    end

    test "[stuck client close] an unreachable broker doesn't delay a stop beyond its time limit" do
      topic, seen = topic_with(1), queue
      running = consuming(topic, shutdown_timeout: 3_000) { seen << messages.size }
      take(seen, 1)
      self.class.cluster.broker_down
      started = Clock::SYSTEM.monotonic_ms
      code = running.stop

      assert_operator Clock::SYSTEM.monotonic_ms - started, :<, 9_000
      assert_includes [0, 2], code
    ensure
      self.class.cluster.broker_up
    end

    test "[listener crash recovery] consuming continues when a broker comes back" do
      topic, seen = topic_with(2), queue
      consuming(topic) { messages.each { |message| seen << message.offset } }
      take(seen, 2)
      self.class.cluster.broker_down
      observe_for(0.5)
      self.class.cluster.broker_up
      produce(topic, %w[after])

      assert_equal [2], take(seen, 1, 40)
    end

    private

    def delete_records(topic, before) = self.class.cluster.delete_records(topic, 0, before)

    # Runs the block with helpers that use another cluster.
    def on(cluster)
      define_singleton_method(:kafka) { cluster.kafka }
      yield
    ensure
      singleton_class.remove_method(:kafka)
    end
  end
end
