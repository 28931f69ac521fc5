# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "penstock/execution/dispatch_to_dlq"
require "penstock/instrumentation/monitor"

module Penstock
  class DispatchToDlqTest < TestCase
    include TestSupport::Failing

    # Remembers the messages it was to send.
    class Producer
      attr_reader :sent

      def initialize = @sent = []
      def produce_sync(message) = @sent << [:sync, message]
      def produce_async(message) = @sent << [:async, message]
    end

    # Refuses every message with a payload.
    class Small < Producer
      def produce_sync(message) = message[:payload].empty? ? super : raise(ProduceError.new("large", code: :msg_size_too_large))
    end

    Consumer = Struct.new(:topic, :producer, :attempt)
    Clock = Struct.new(:wall_ms)

    def consumer(type = Consumer, **queue)
      features = queue.empty? ? {} : dead_letters(3, **queue)
      @events, @errors = [], []
      monitor = Instrumentation::Monitor.new.tap do |one|
        one.subscribe("dead_letter_queue.dispatched") { |event| @events << event.payload }
        one.subscribe("error.occurred") { |event| @errors << event.payload }
      end
      dependencies = Execution::DispatchToDlq::Dependencies.new(features[:dead_letter_queue], monitor, Clock.new(7))
      consumer = type.new(route(features: features), Producer.new, 1)
      consumer.tap { Execution::DispatchToDlq.extend_consumer(_1, dependencies) }
    end

    # Sends its letters back.
    class Returning < Consumer
      private

      def enhance_dlq_message(letter, record) = letter[:topic] = record.topic
    end

    def odd_one = filled(1, {}).next_unit.messages.first

    test "a letter that enhance_dlq_message addresses to the message's own topic isn't sent" do
      one = consumer(Returning, topic: "dead")
      error = assert_raises(MessageInvalidError) { one.dispatch_to_dlq(odd_one) }

      assert_match(/enhance_dlq_message has set the topic of a letter to orders/, error.message)
      assert_empty one.producer.sent + @events
    end

    # Raises after its first change.
    class Raising < Consumer
      def enhance_dlq_message(letter, _record)
        letter[:headers]["host"] = letter[:key] = "changed"
        raise "no host"
      end
    end

    test "[enhance_dlq_message] an error of it is reported, and the letter of dispatch_to_dlq is sent without its changes" do
      one = consumer(Raising, topic: "dead", dispatch_method: "produce_sync")
      one.dispatch_to_dlq(odd_one)
      way, sent = one.producer.sent.first

      assert_equal [:sync, "dead", nil], [way, sent[:topic], sent[:headers]["host"]]
      refute_equal "changed", sent[:key]
      assert_equal [["consumer.error_callback.error", "no host", one, 0]],
        @errors.map { |payload| [payload[:type], payload[:error].message, *payload.values_at(:caller, :offset)] }
    end

    test "[DLQ event/manual dispatch] a consumer may dead-letter a message itself, and the event contains it" do
      one = consumer(topic: "dead", dispatch_method: "produce_sync")
      one.dispatch_to_dlq(odd_one, reason: KeyError.new("odd"))
      way, sent = one.producer.sent.first

      assert_equal [:sync, "dead", "dispatched", "KeyError"],
        [way, sent[:topic], *sent[:headers].values_at("penstock_reason", "penstock_error_class")]
      assert_equal [0, "dead", one], [@events.first[:message].offset, @events.first[:to], @events.first[:caller]]
    end

    test "a letter that is too large is sent without its payload where the route allows that, and raises elsewhere" do
      one = consumer(topic: "dead", dispatch_method: "produce_sync", oversized: "reference")
      one.producer = Small.new
      one.dispatch_to_dlq(odd_one)
      assert_equal [["", "payload"], "payload"], [one.producer.sent.map { |_way, sent|
        [sent[:payload], sent[:headers]["penstock_omitted"]]
      }.first, @events.first[:omitted]]
      other = consumer(topic: "dead", dispatch_method: "produce_sync")
      other.producer = Small.new
      assert_raises(ProduceError) { other.dispatch_to_dlq(odd_one) }
      assert_empty @events
    end

    test "anything but a message is refused: nil, all records of a call, a Hash" do
      one = consumer(topic: "dead", dispatch_method: "produce_sync")
      messages = filled(1, {}).next_unit.messages
      [nil, messages, messages.to_a, {offset: 1}].each do |other|
        error = assert_raises(ArgumentError) { one.dispatch_to_dlq(other) }
        assert_includes error.message, "dispatch_to_dlq takes one message, such as messages.last, not "
      end

      assert_empty one.producer.sent
    end

    test "dispatch_to_dlq exists only where the route has dead letters, and raises where the route specifies no topic" do
      refute_respond_to consumer, :dispatch_to_dlq
      refute_respond_to consumer(topic: nil), :dispatch_to_dlq
      assert_raises(ConfigurationError) { consumer(topic: false, dispatch_method: "produce_async").dispatch_to_dlq(odd_one) }
    end
  end
end
