# frozen_string_literal: true

require "test_helper"
require "support/kit_examples"
require "penstock/testing/matchers/produced"

module Penstock
  class MatcherProducedTest < TestCase
    include TestSupport::KitExamples

    def produced(payload = '{"total":12}', topic: "invoices", **more)
      producer.produce_sync(topic: topic, payload: payload, **more)
    end

    def matcher(*expected, **more) = Testing::Matchers::Produced.new(kit, *expected, **more)

    def matches?(...) = matcher(...).matches?(kit)

    def failure(...)
      matcher = matcher(...)
      refute matcher.matches?(kit), "it matches"
      matcher.failure_message
    end

    test "topic, key, payload, headers and partition are compared, each if given" do
      produced(key: "42", headers: {"a" => "1", "b" => "2"}, partition: 3)

      assert matches?
      assert matches?("invoices", key: "42", payload: {"total" => 12}, headers: {"a" => "1"}, partition: 3)
      assert matches?(:invoices, key: /4/, payload: {"total" => Integer}, headers: {"b" => /2/})
      assert matches?(/inv/, payload: '{"total":12}')
      refute matches?("invoice")
      refute matches?("invoices", key: "4")
      refute matches?("invoices", payload: {"total" => 13})
      refute matches?("invoices", headers: {"c" => "1"})
      refute matches?("invoices", partition: 0)
    end

    test "a payload is compared as bytes, and as the topic's consumers see it" do
      @penstock_application = application(proc do
        topic(:orders) do
          consumer BlockConsumer
          deserializers payload: ->(message) { Integer(message.raw_payload) }
        end
      end)
      kit.application.producer
      Testing::Kit.new(self).tap { |other| @kit.close && @kit = other.open }
      produced("12", topic: "orders")
      produced(nil, topic: "orders", key: "k")
      produced("no number", topic: "orders")

      assert matches?("orders", payload: 12)
      assert matches?("orders", payload: "12")
      assert matches?("orders", payload: nil, count: 1)
      assert matches?("orders", payload: "no number", count: 1)
    end

    test "a number of messages can be expected" do
      3.times { produced }

      assert matches?("invoices", count: 3)
      assert matches?("invoices", count: 2..4)
      assert matches?("other", count: 0)
      refute matches?("invoices", count: 2)
      assert_equal 3, matcher.tap { |one| one.matches?(kit) }.matching.size
    end

    test "of a block only what it produces counts" do
      produced(key: "before")

      assert matcher(key: "inside").matches?(-> { produced(key: "inside") })
      refute matcher(key: "before").matches?(-> { produced(key: "inside") })
      error = assert_raises(ArgumentError) { matcher.matches?(12) }
      assert_equal "messages are expected of `penstock` or of a block, not of 12", error.message
    end

    test "messages that the test produces don't count" do
      kit.consumer_for(:orders)
      kit.produce("1")

      refute matches?("orders")
      assert_equal "expected a message to orders, but nothing was produced\nA message that the test itself has produced " \
        "would match; " \
        "only those of the code under test count", failure("orders")
    end

    test "the failure shows what is expected, and that nothing was produced" do
      assert_equal "expected a message, but nothing was produced", failure
      assert_equal "expected a message to invoices with key \"42\", payload " \
        "{\"total\"=>12} and headers {\"a\"=>\"b\"}, but nothing was " \
        "produced", failure("invoices", key: "42", payload: {"total" => 12}, headers: {"a" => "b"}).gsub(" => ", "=>")
    end

    test "the failure shows every message that was produced, and what differs" do
      produced(key: "41")
      produced(nil, topic: "orders.dead", key: "42", partition: 1)

      assert_equal <<~TEXT.chomp, failure("invoices", key: "42")
        expected a message to invoices with key "42", but all 2 messages that were produced differ:
          invoices/0 key "41" payload "{"total":12}" (not the key)
          orders.dead/1 key "42" payload nil (not the topic)
      TEXT
    end

    test "the failure shows headers where they are expected, and how many match where a number is" do
      produced(headers: {"a" => "1"})
      assert_equal "expected a message with headers " \
        "{\"a\"=>\"2\"}, but the only message that was produced differs:\n  invoices/0 key " \
        "nil headers {\"a\"=>\"1\"} payload \"{\"total\":12}\" (not the headers)",
        failure(headers: {"a" => "2"}).gsub(" => ", "=>")
      assert_equal "expected 2 messages to invoices, but 1 of 1 message matches:\n  invoices/0 key nil payload " \
        "\"{\"total\":12}\"",
        failure("invoices", count: 2)
    end

    test "the failure is short and printable, also if payloads aren't" do
      12.times { |number| produced("\e[2Jred\xff#{"x" * 5_000}", key: "k#{number}") }
      text = failure("orders")

      assert_includes text, "invoices/0 key \"k0\" payload \"\\e[2Jred\\xFFxxx"
      assert_equal "  … and 2 more", text.lines.last
      assert_operator text.bytesize, :<, 4_500
      refute_match(/[\e\x00]/, text)
    end

    test "the failure explains Symbols as keys of a payload" do
      produced

      assert_match(/\nThe expected payload has Symbols as keys; JSON makes Strings of them\z/, failure(payload: {total: 12}))
    end

    # As RSpec's a_hash_including.
    Including = Struct.new(:description) do
      def matches?(_actual) = false
      def ===(_other) = false
    end

    test "the failure shows the description of an RSpec matcher, and explains Symbols in it" do
      produced
      ["a hash including {:total => 12}", "a hash including {total: 12}", "(a hash including {:total=>12})"].each do |text|
        shown = failure(payload: Including.new(text))
        assert_includes shown, "payload #{text}"
        assert_match(/has Symbols as keys; JSON makes Strings of them/, shown)
      end
      refute_match(/Symbols/, failure(payload: Including.new('a hash including {"total" => 12}')))
    end

    test "the failure of the opposite shows the message" do
      produced
      negated = matcher("invoices").tap { |one| assert one.matches?(kit) }.failure_message_when_negated
      assert_equal "expected no message to invoices, but 1 of 1 message matches:\n  invoices/0 key nil payload " \
        "\"{\"total\":12}\"",
        negated

      counted = matcher("invoices", count: 1).tap { |one| assert one.matches?(kit) }.failure_message_when_negated
      assert_match(/\Aexpected not exactly 1 message to invoices, but 1 of 1 message matches:/, counted)
    end

    test "the description completes a sentence" do
      assert_equal "have produced a message to invoices with key \"42\"", matcher(:invoices, key: "42").description
    end
  end
end
