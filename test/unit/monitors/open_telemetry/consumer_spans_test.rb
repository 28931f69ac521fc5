# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/messages/memory_batch"
require "penstock/messages/messages"
require "penstock/monitors/open_telemetry/consumer_spans"
require "support/traces"

module Penstock
  class ConsumerSpansTest < TestCase
    include TestSupport::Traces

    Consumer = Struct.new(:messages, :partition, :topic, :attempt, keyword_init: true)
    Topic = Struct.new(:consumer_group_id)

    # Headers of a record that one of a number of spans has produced.
    def traced(number) = {"traceparent" => format("00-%032x-%016x-01", number, number)}

    def produced(number) = format("%016x", number)

    # @param headers [Array<Hash, nil>] of a record each
    def consumer(*headers, attempt: 1)
      rows = headers.each_with_index.map do |own, index|
        Messages::MemoryBatch::Row.new(offset: 10 + index, payload: index.to_s, headers: own)
      end
      messages = Messages.new(Messages::MemoryBatch.new("orders", 3, rows))
      messages.batch.context = Messages::Context.new(Deserializers.new(->(message) { message.raw_payload }))
      Consumer.new(messages: messages, partition: 3, topic: Topic.new("shop"), attempt: attempt)
    end

    Deserializers = Struct.new(:payload, :key, :headers, :text_parser)

    def layer(**options)
      Monitors::OpenTelemetry::ConsumerSpans.new(tracer, Monitors::OpenTelemetry::Options.read(options))
    end

    test "[traces] a call is a span that links to the spans which produced its records, each once" do
      layer.call(consumer(traced(1), traced(1), nil, traced(2), traced(1), {"x" => "y"}, attempt: 2), :consume) { nil }
      call = span("process orders")

      assert_root(call)
      assert_equal :consumer, call.kind
      assert_equal [produced(1), produced(2)], linked(call)
      assert_equal({"messaging.system" => "kafka", "messaging.operation.name" => "process",
        "messaging.operation.type" => "process"}, call.attributes.slice(*PLAIN))
      assert_equal({"messaging.destination.name" => "orders", "messaging.destination.partition.id" => "3",
        "messaging.consumer.group.name" => "shop", "messaging.batch.message_count" => 6, "penstock.attempt" => 2,
        "penstock.first_offset" => 10, "penstock.last_offset" => 15}, attributes(call))
    end

    test "a call with one record has its offset; other spans are below it" do
      layer.call(consumer(traced(1)), :consume) { within_span("query") { nil } }

      assert_equal 10, span("process orders").attributes["messaging.kafka.offset"]
      refute_includes span("process orders").attributes.keys, "messaging.batch.message_count"
      assert_child(span("process orders"), span("query"))
      assert_root(span("process orders"))
    end

    test "[traces] with the producer as parent, a call with one record is in the trace of its record, a larger one isn't" do
      layer(parent: :producer).call(consumer(traced(1)), :consume) { nil }
      layer(parent: :producer).call(consumer(nil), :consume) { nil }
      layer(parent: :producer).call(consumer(traced(1), traced(1)), :consume) { nil }
      child, without, several = spans

      assert_equal [format("%032x", 1), produced(1)], [child.hex_trace_id, child.hex_parent_span_id]
      assert_equal [produced(1)], linked(child)
      assert_root(without)
      assert_root(several)
    end

    test "a span that is current already is the parent, or linked to if the producer's is" do
      within_span("outer") do
        layer.call(consumer(traced(1)), :consume) { nil }
        layer(parent: :producer).call(consumer(traced(1)), :consume) { nil }
      end
      below, child = spans_named("process orders")

      assert_child(span("outer"), below)
      assert_equal produced(1), child.hex_parent_span_id
      assert_equal [produced(1), span("outer").hex_span_id], linked(child)
    end

    test "at most 128 spans are linked to" do
      layer.call(consumer(*(1..200).map { |number| traced(number) }), :consume) { nil }

      assert_equal (1..128).map { |number| produced(number) }, linked(span("process orders"))
    end

    test "[traces] an error of the call is one of the span, with the record it is attributed to" do
      calling = consumer(traced(1), traced(2))
      error = assert_raises(IOError) do
        layer.call(calling, :consume) { calling.messages.each { |message| raise IOError, "no" if message.offset == 11 } }
      end
      call = span("process orders")

      assert_equal "no", error.message
      assert_equal [OTel::Trace::Status::ERROR, "IOError", "IOError"],
        [call.status.code, call.status.description, call.attributes["error.type"]]
      event = call.events.first
      assert_equal ["exception", "IOError", "no", 11],
        [event.name, *event.attributes.values_at("exception.type", "exception.message", "messaging.kafka.offset")]
      assert_equal call.hex_span_id, OTel::Trace.current_span(Monitors::OpenTelemetry::Spans.failed_call).context.hex_span_id
      layer.call(consumer(nil), :consume) { nil }
      assert_nil Monitors::OpenTelemetry::Spans.failed_call
    end

    test "a stop that interrupts a call is an event of the span, not an error" do
      assert_raises(Interrupted) { layer.call(consumer(nil), :consume) { raise Interrupted } }

      assert_equal [OTel::Trace::Status::UNSET, nil, ["exception"]],
        [span("process orders").status.code, span("process orders").attributes["error.type"],
          span("process orders").events.map(&:name)]
    end

    test "hooks have no span" do
      assert_equal :done, layer.call(consumer(nil), :shutdown) { :done }
      assert_empty spans
    end

    test "[traces] with a span per record, each is a child of the span that produced it, and links to the call" do
      calling = consumer(traced(1), nil)
      layer(spans: :message).call(calling, :consume) do
        calling.messages.each { |message| within_span("query #{message.offset}") { nil } }
      end
      call = spans_named("process orders").find { |one| one.attributes.key?("messaging.batch.message_count") }
      first, second = spans_named("process orders") - [call]

      assert_equal [[format("%032x", 1), produced(1)], 10],
        [[first.hex_trace_id, first.hex_parent_span_id], first.attributes["messaging.kafka.offset"]]
      assert_equal [call.hex_span_id], linked(first)
      assert_child(call, second)
      assert_child(first, span("query 10"))
      assert_child(second, span("query 11"))
    end

    test "a record's error is one of its span; an iteration that is left, and one inside another, end theirs" do
      calling = consumer(traced(1), traced(2), traced(3))
      assert_raises(IOError) do
        layer(spans: :message).call(calling, :consume) do
          calling.messages.each { break }
          calling.messages.each do |message|
            calling.messages.each { nil }
            raise IOError, "no" if message.offset == 11
          end
        end
      end
      offsets = spans.filter_map { |one| [one.attributes["messaging.kafka.offset"], one.attributes["error.type"]] }

      assert_equal [[10, nil], [10, nil], [11, "IOError"], [nil, "IOError"]], offsets
      assert_nil calling.messages.around
    end

    test "with a span per record a call with one record has one, in the record's trace; reading all payloads makes none" do
      one, several = consumer(traced(1)), consumer(traced(1), traced(2))
      layer(spans: :message).call(one, :consume) { one.messages.each { nil } }
      layer(spans: :message).call(several, :consume) { assert_equal %w[0 1], several.messages.payloads }

      assert_equal [[produced(1)], [produced(1), produced(2)]], spans.map { |call| linked(call) }
      assert_equal produced(1), spans.first.hex_parent_span_id
    end

    test "headers that aren't a context are none" do
      broken = [{"traceparent" => "00-1-2-3"}, {"traceparent" => "\xFF".b}, {"traceparent" => nil}, {"traceparent" => [nil]},
        {"traceparent" => "00-#{"0" * 32}-#{"0" * 16}-01"}, {"traceparent" => ["x", traced(7)["traceparent"]]}]
      layer.call(consumer(*broken), :consume) { nil }

      assert_equal [produced(7)], linked(span("process orders"))
    end

    test "an error of the SDK is its own: the call runs" do
      OTel.tracer_provider.id_generator = nil

      assert_equal :done, layer.call(consumer(traced(1)), :consume) { :done }
      assert_equal :done, layer(spans: :message).call(consumer(nil, nil), :consume) { :done }
    end

    class FailingProcessor
      def on_start(*) = nil
      def on_finish(_) = raise("no exporter")
    end

    test "an error of the exporter, too" do
      OTel.tracer_provider.add_span_processor(FailingProcessor.new)

      assert_equal :done, layer.call(consumer(traced(1)), :consume) { :done }
      assert_equal "penstock: a span", @trace_errors.pop.first
    end

    # Runs a call on a thread that is interrupted as soon as the call's span has become the current one.
    def interrupted
      attach = OTel::Context.method(:attach)
      interrupting = ->(context) { attach.call(context).tap { Thread.current.raise(Interrupted) } }
      OTel::Context.stub(:attach, interrupting) do
        Thread.new { [assert_raises(Interrupted) { yield }, OTel::Context.current] }.value
      end
    end

    test "an interrupt reaches the call's code, and no span stays on the thread" do
      reached = []
      _error, left = interrupted { layer.call(consumer(traced(1)), :consume) { Thread.pass || reached << :code } }

      assert_equal [[], OTel::Context::ROOT], [reached, left]
      assert_equal [["exception"]], spans.map { |one| one.events.map(&:name) }
    end

    test "a thread that the SDK starts when a span ends can be killed, as at the end of a process" do
      started, never = Queue.new, Queue.new
      processor = Class.new do
        define_method(:on_start) { |*| nil }
        define_method(:on_finish) { |_| started << Thread.new { never.pop } }
      end
      OTel.tracer_provider.add_span_processor(processor.new)
      worker = Thread.new do
        Thread.handle_interrupt(Object => :never) do
          Thread.handle_interrupt(Object => :immediate) { layer.call(consumer(traced(1)), :consume) { nil } }
        end
      end
      worker.join

      assert started.pop.kill.join(10)
    end
  end
end
