# frozen_string_literal: true

require "test_helper"
require "logger"
require "penstock"
require "penstock/testing/kit"
require "support/outbox"

module Penstock
  # Rows of an outbox in examples: nothing of them is sent to a broker.
  class KitOutboxRowsTest < TestCase
    extend TestSupport::Outbox::OnSQLite

    # Answers each order by a row of the outbox.
    class Answering < BaseConsumer
      def consume
        ActiveRecord::Base.transaction do
          each { |message| Outbox.enqueue(topic: "answers", key: message.key, payload: "to #{message.raw_payload}") }
        end
      end
    end

    # Remembers what it has read.
    class Reading < BaseConsumer
      SEEN = []
      def consume = each { |message| SEEN << message.raw_payload }
    end

    def setup
      super
      ActiveRecord::Base.connection.execute("DELETE FROM penstock_outbox")
      Reading::SEEN.clear
      Outbox.setup { |config| config.send_timeout = 1_000 }
      application = shop
      @app = Class.new(App)
      @app.define_singleton_method(:application) { application }
      @kit = Testing::Kit.new.open
    end

    def teardown
      @kit.close
      Penstock.forget_app(@app)
      super
    end

    test "messages of a relay stay in the example, and are delivered to its consumers" do
      enqueue(topic: "orders", key: "1", payload: "first")

      assert_equal 1, Outbox.relay.drain
      assert_equal [["orders", "1", "first"]], @kit.produced_messages.map { |one| one.values_at(:topic, :key, :payload) }
      assert_equal 0, Outbox.lag.pending
    end

    test "so do those of a relay with a producer of its own; other objects can't be captured" do
      own = Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 1_000} }
      enqueue(topic: "orders", payload: "first")
      assert_equal 1, Outbox.relay { own }.drain
      enqueue(topic: "orders", payload: "second")
      log = TestSupport::Outbox::Log.new
      assert_equal 1, Outbox.relay { log }.drain

      assert_equal [%w[first], %w[second]], [@kit.produced_messages.map(&:payload), log.payloads]
    end

    test "consume_all relays what was written before it and what consumers write, each at once" do
      enqueue(topic: "orders", key: "1", payload: "first")
      run = @kit.consume_all(within: 0)

      assert_equal ["to first"], Reading::SEEN
      assert_equal %w[orders/0 answers/0], run.consumed.map(&:place)
      assert_equal %w[orders answers], run.produced.map(&:topic)
      assert_equal 0, Outbox.lag.pending
    end

    test "a row that was rolled back is never sent" do
      ActiveRecord::Base.transaction do
        Outbox.enqueue(topic: "orders", payload: "first")
        raise ActiveRecord::Rollback
      end

      assert_empty @kit.consume_all.consumed
    end

    test "inside of a transaction around the test, as with transactional fixtures" do
      ActiveRecord::Base.transaction do
        Outbox.enqueue(topic: "orders", payload: "first")
        @kit.consume_all
        raise ActiveRecord::Rollback
      end

      assert_equal ["to first"], Reading::SEEN
    end

    test "an example that writes no rows needs no table" do
      Outbox.setup { |config| config.table = "nowhere" }
      @kit.produce("first", topic: "answers")

      assert_equal 1, @kit.consume_all.consumed.size
    end

    private

    def enqueue(message) = ActiveRecord::Base.transaction { Outbox.enqueue(message) }

    def shop
      Application.new("shop") do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.client_id = config.group_id = "shop"
        config.logger = Logger.new(nil)
      end.tap do |application|
        application.routing.draw do
          topic(:orders) { consumer Answering }
          topic(:answers) { consumer Reading }
        end
      end
    end
  end
end
