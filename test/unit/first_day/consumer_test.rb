# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/base_consumer"

module Penstock
  # Wrong calls inside of `consume`, and their messages as a whole.
  class FirstDayConsumerTest < TestCase
    include TestSupport::Lanes

    Orders = Class.new(BaseConsumer) { def consume = nil }
    Other = Struct.new(:topic, :partition, :offset, :uid, :mark_cell)
    Alike = Struct.new(:topic, :partition, :offset)

    def setup
      lane = lane(committed: 0)
      @consumer = Orders.new
      @consumer.penstock_context = Consumer::Context.new(lane, Object.new)
    end

    CALLS = {
      "marking nil" => [:mark_as_consumed, [nil], "a message can be marked, such as messages.last, not nil"],
      "marking an offset" => [:mark_as_consumed, [7], "a message can be marked, such as messages.last, not 7"],
      "marking at once what isn't a message" => [:mark_as_consumed!, ["x"],
        'a message can be marked, such as messages.last, not "x"'],
      "marking what only has its names" => [:mark_as_consumed, [Alike.new("orders", 3, 0)],
        "a message can be marked, such as messages.last, not #{Alike.new("orders", 3, 0).inspect[0, 80]}"],
      "marking a message of another partition" => [:mark_as_consumed, [Other.new("orders", 3, 0, "orders/3/0")],
        "orders/3/0 can't be marked by the consumer of orders/0: a consumer marks records of its own partition"],
      "a seek below the log" => [:seek, [-5], "seek takes an offset, a Time, :earliest or :latest, not -5"],
      "a pause at a word" => [:pause, ["x"], 'pause takes an offset or :consecutive, not "x"']
    }.freeze

    CALLS.each do |name, (method, arguments, message)|
      test "#{name} is refused with what is expected" do
        error = assert_raises(ArgumentError) { @consumer.public_send(method, *arguments) }

        assert_equal message, error.message
      end
    end

    test "a dead letter without a dead letter topic is refused with what the route needs" do
      error = assert_raises(NoMethodError) { @consumer.dispatch_to_dlq(nil) }

      assert_equal "dispatch_to_dlq needs a dead letter topic: add `dead_letter_queue topic: \"orders.dead\"` to the route of " \
                   "orders", error.message
      refute_respond_to @consumer, :dispatch_to_dlq
    end
  end
end
