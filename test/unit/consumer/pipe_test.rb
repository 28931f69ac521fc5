# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/base_consumer"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"

module Penstock
  class PipeTest < TestCase
    Record = Struct.new(:raw_payload, :raw_key, :raw_headers, :topic, :partition, :offset)

    class Piper < BaseConsumer
      Topic = Struct.new(:consumer_group_id)

      attr_reader :producer

      def initialize(producer)
        @producer = producer
        super()
      end

      def topic = Topic.new("billing")
    end

    class Enhancer < Piper
      private

      def enhance_pipe_message(piped, message)
        piped[:headers]["by"] = "me"
        piped[:partition] = message.partition
      end
    end

    # Records the messages it is asked to produce.
    class Recorder
      def initialize = @calls = []
      attr_reader :calls

      %i[produce_sync produce_async produce_many_sync produce_many_async].each do |name|
        define_method(name) { |sent| @calls << [name, sent] }
      end
    end

    KEYED = Record.new("\xFF".b, "k", {"a" => ["1", nil], "source_topic" => "older"}, "orders", 2, 7)
    KEYLESS = Record.new(nil, nil, {}, "orders", 2, 8)
    SOURCE = {"source_topic" => "orders", "source_partition" => "2", "source_offset" => "7",
              "source_consumer_group" => "billing"}.freeze

    def recorder = @recorder ||= Recorder.new

    test "[piping] bytes, key and headers are kept, and headers for the source are added" do
      Piper.new(recorder).pipe_async(topic: :audit, message: KEYED)

      assert_equal [[:produce_async, {topic: :audit, payload: "\xFF".b, headers: {"a" => ["1", nil], **SOURCE}, key: "k"}]],
        recorder.calls
    end

    test "[piping] messages without a key go to one partition per source partition, in order" do
      Piper.new(recorder).pipe_many_sync(topic: "audit", messages: [KEYED, KEYLESS])
      name, sent = recorder.calls.first

      assert_equal [:produce_many_sync, ["k", nil], [nil, "2"]], [name, sent.map { |one| one[:key] }, sent.map { |one|
        one[:partition_key]
      }]
      assert_equal [nil, "8"], [sent.last[:payload], sent.last[:headers]["source_offset"]]
    end

    test "enhance_pipe_message may change what is sent" do
      consumer = Enhancer.new(recorder)
      consumer.pipe_sync(topic: "audit", message: KEYED)
      consumer.pipe_many_async(topic: "audit", messages: [KEYLESS])

      assert_equal %i[produce_sync produce_many_async], recorder.calls.map(&:first)
      sent = recorder.calls.flat_map { |_, what| Array(what.is_a?(Hash) ? [what] : what) }
      assert_equal [["me", 2]] * 2, sent.map { |one| [one[:headers]["by"], one[:partition]] }
    end
  end
end
