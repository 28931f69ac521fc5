# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/event"
require "penstock/messages/memory_batch"
require "penstock/messages/messages"
require "penstock/monitors/open_telemetry/letter_spans"
require "support/traces"

module Penstock
  class LetterSpansTest < TestCase
    include TestSupport::Traces

    PRODUCED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def dispatched(name, headers)
      row = Messages::MemoryBatch::Row.new(offset: 7, payload: "1", headers: headers)
      record = Messages.new(Messages::MemoryBatch.new("orders", 3, [row])).first
      event = Instrumentation::Event.new(name, {topic: "orders", partition: 3, offset: 7, attempt: 2, message: record,
        to: "orders.dead", error: IOError.new("no")})
      Monitors::OpenTelemetry::LetterSpans.new(tracer).public_send(:"on_#{name.tr(".", "_")}", event)
    end

    test "[traces] a record that was sent on has a span below the one that produced it" do
      dispatched("dead_letter_queue.dispatched", {"traceparent" => PRODUCED})
      sent = span("send orders.dead")

      assert_equal PRODUCED.split("-")[1, 2], [sent.hex_trace_id, sent.hex_parent_span_id]
      assert_equal ["b7ad6b7169203331"], linked(sent)
      assert_equal :producer, sent.kind
      assert_equal({"messaging.destination.name" => "orders.dead", "penstock.source.topic" => "orders", "penstock.attempt" => 2},
        attributes(sent))
    end

    test "a record without a context has one that begins a trace" do
      dispatched("retry_topic.dispatched", nil)

      assert_root(span("send orders.dead"))
    end

    test "what user code sends itself in a call has the span of its producer" do
      within_span("process orders") { dispatched("dead_letter_queue.dispatched", {"traceparent" => PRODUCED}) }

      assert_equal ["process orders"], spans.map(&:name)
    end
  end
end
