# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/producer"
require "support/commands"

module Penstock
  # `penstock produce`: which messages it makes from its arguments and its input, and what it prints.
  class ProduceTest < TestCase
    include TestSupport::Commands

    Report = Struct.new(:partition, :offset)
    # Remembers the messages, call by call; `failing` is raised instead.
    Producer = Struct.new(:calls, :failing, :closed) do
      def initialize(calls, failing) = super(calls, failing, [])

      def produce_many_sync(messages)
        raise failing if failing
        calls << messages
        Array.new(messages.size) { |index| Report.new(2, index) }
      end

      def close = closed << :close
      def close!(timeout_ms:) = closed << [:close!, timeout_ms]
    end

    def produce(*argv, input: "", failing: nil)
      @producer = Producer.new([], failing)
      make = lambda do |&configure|
        @settings = Penstock::Producer::Settings.new.tap(&configure)
        @producer
      end
      Penstock::Producer.stub(:new, make) { penstock("produce", "orders", "--bootstrap", "a:1", *argv, input: input) }
    end

    test "an argument is one message, with key, headers and partition where they are given" do
      assert_equal ["orders/2 at offset 0\n", "", 0], produce("hello").to_a
      assert_equal [[{topic: "orders", payload: "hello"}]], @producer.calls
      produce("hello", "--key", "k", "--header", "a=b", "--header", "c=d", "--partition", "2")
      assert_equal [[{topic: "orders", payload: "hello", key: "k", partition: 2, headers: {"a" => "b", "c" => "d"}}]],
        @producer.calls
      assert_equal [:close], @producer.closed
    end

    test "without an argument each line of the input is a message, sent 500 at a time" do
      produce(input: Array.new(501) { |index| "line #{index}\n" }.join)
      assert_equal [500, 1], @producer.calls.map(&:size)
      assert_equal({topic: "orders", payload: "line 500"}, @producer.calls.last.first)
      assert_empty produce(input: "").out
    end

    test "a tombstone has a key and no payload, and reads no input" do
      produce("--tombstone", "--key", "k", input: "ignored\n")
      assert_equal [[{topic: "orders", key: "k"}]], @producer.calls
    end

    test "with --json each message is a line that names its place" do
      assert_equal Array.new(2) { |offset| {"topic" => "orders", "partition" => 2, "offset" => offset} },
        produce("--json", input: "a\nb\n").out.lines.map { |line| JSON.parse(line) }
    end

    test "a delivery may take 15 s, unless -X sets another time" do
      produce("hello")
      assert_equal [15_000, "a:1"], @settings.kafka.values_at(:"message.timeout.ms", :"bootstrap.servers")
      produce("hello", "-X", "message.timeout.ms=5")
      assert_equal "5", @settings.kafka[:"message.timeout.ms"].to_s
    end

    test "after an interrupt the command waits for no delivery" do
      assert_equal 130, produce("hello", failing: Interrupt.new).code
      assert_equal [[:close!, 0], :close], @producer.closed
    end
  end
end
