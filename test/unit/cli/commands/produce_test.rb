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
    Handle = Struct.new(:report)
    Settled = Struct.new(:outcome, :offset) do
      def partition = 0
      def delivered? = outcome == :delivered
      def unknown? = outcome == :unknown
    end
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

    def produce(*argv, input: "", typed: nil, failing: nil)
      @producer = Producer.new([], failing)
      make = lambda do |&configure|
        @settings = Penstock::Producer::Settings.new.tap(&configure)
        @producer
      end
      Penstock::Producer.stub(:new, make) { penstock("produce", "orders", "--bootstrap", "a:1", *argv, input: input, typed: typed) }
    end

    test "on a terminal the command reports that it reads the standard input" do
      assert_equal "reading messages from the standard input, one per line: Ctrl-D sends them\n", produce(typed: "a\n").err
      assert_equal [[{topic: "orders", payload: "a"}]], @producer.calls
      assert_equal ["", ""], [produce("hello", typed: "a\n").err, produce(input: "a\n").err]
    end

    test "an argument is one message, with key, headers and partition where they are given" do
      assert_equal ["orders/2 at offset 0\n", "", 0], produce("hello").to_a
      assert_equal [[{topic: "orders", payload: "hello"}]], @producer.calls
      assert_equal [0, [[{topic: "orders", payload: ""}]]], [produce("").code, @producer.calls]
      assert_match(/an argument is empty/, penstock("produce", "").err)
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

    test "with a key separator each line has its own key, up to the first separator" do
      produce("-K", ":", input: "a:1\n:2\nb:{\"x\":3}\n\u00FC:\xFF\n")
      assert_equal [["a", "1"], ["", "2"], ["b", '{"x":3}'], ["\u00FC", "\xFF"]],
        @producer.calls.first.map { |message| message.values_at(:key, :payload) }
      produce("--key-separator", '\t', input: "a b\tc\n")
      assert_equal({topic: "orders", payload: "c", key: "a b"}, @producer.calls.first.first)
    end

    test "a line without the separator is refused with its number, and none of its batch is sent" do
      result = produce("-K", "::", input: "a::1\nb:2\nc::3\n")
      assert_equal [1, "", []], [result.code, result.out, @producer.calls]
      assert_equal "penstock: produce: line 2 of the standard input doesn't contain the key separator \"::\". Nothing was " \
                   "produced\n", result.err

      result = produce("-K", ":", input: "#{"k:v\n" * 501}bad\n")
      assert_equal [500], @producer.calls.map(&:size)
      assert_match(/line 502 .* Lines 1 to 500 were produced, and none after them$/, result.err)
    end

    test "a key separator is refused where there are no lines with keys" do
      {["--key", "k"] => "--key", ["--tombstone"] => "--tombstone", ["text"] => "PAYLOAD"}.each do |argv, name|
        assert_match(/can't be combined with #{name}$/, produce("-K", ":", *argv).err)
      end
      assert_match(/--key-separator is empty/, produce("-K", "").err)
      assert_empty @producer.calls
    end

    test "if some lines of a batch fail, the stored ones are printed, and how many there are" do
      outcomes = {7 => :delivered, 0 => :failed, 1 => :unknown, 8 => :delivered}
      reports = outcomes.map { |offset, outcome| Settled.new(outcome, offset) }
      error = ProduceManyError.new("too late", dispatched: [*reports.map { |report| Handle.new(report) }, Handle.new(nil)])
      result = produce(input: "a\nb\nc\nd\ne\n", failing: error)

      assert_equal "orders/0 at offset 7\norders/0 at offset 8\n", result.out
      assert_equal "Of the lines from 1 on, 2 were produced, and it isn't known whether 2 more were\npenstock: too late\n",
        result.err
    end

    test "if a message is invalid, the error line comes after the lines that were produced" do
      assert_match(/\ANothing was produced\npenstock: bad/, produce(input: "a\n", failing: MessageInvalidError.new("bad")).err)
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
