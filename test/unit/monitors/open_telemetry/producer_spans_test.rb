# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/testing/buffered_client"
require "support/traces"

module Penstock
  class ProducerSpansTest < TestCase
    include TestSupport::Traces

    OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def setup
      super
      @producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:9"}
        config.client_class = Testing::BufferedClient
        config.logger = Logger.new(nil)
      end
      Monitors::OpenTelemetry.install(@producer)
    end

    def teardown
      @producer.close
      super
    end

    def order(**more) = {topic: "orders", payload: "1", **more}
    def sent = @producer.client.messages
    def headers = sent.map { |message| message[:headers] }

    test "[traces] a synchronous call is a span, whose context the message carries" do
      within_span("request") { @producer.produce_sync(order(partition: 2)) }
      call = span("send orders")

      assert_child(span("request"), call)
      assert_equal :producer, call.kind
      assert_equal({"messaging.system" => "kafka", "messaging.operation.name" => "send", "messaging.operation.type" => "send"},
        call.attributes.slice(*PLAIN))
      assert_equal({"messaging.destination.name" => "orders", "messaging.destination.partition.id" => "2",
        "messaging.kafka.offset" => 0}, attributes(call))
      assert_equal [{"traceparent" => traceparent(call)}], headers
      assert_empty linked(call)
    end

    test "an asynchronous call and one without a current span begin a trace" do
      @producer.produce_async(order(payload: nil, key: "7"))
      call = span("send orders")

      assert_root(call)
      assert_equal({"messaging.destination.name" => "orders", "messaging.kafka.message.tombstone" => true}, attributes(call))
      assert_equal [{"traceparent" => traceparent(call)}], headers
    end

    test "many messages are one span, without a topic if they have several" do
      @producer.produce_many_sync([order, order(topic: "mails")])
      @producer.produce_many_async([order, order(topic: :orders)])
      @producer.produce_many_async([])

      count = {"messaging.batch.message_count" => 2}
      assert_equal [count, {"messaging.destination.name" => "orders", **count}],
        [attributes(span("send")), attributes(span("send orders"))]
      assert_equal [traceparent(span("send"))] * 2 + [traceparent(span("send orders"))] * 2,
        headers.map { |own| own["traceparent"] }
    end

    test "[traces] a message that has a context keeps it: the call links to its span, and continues its trace if there is no other" do
      given = order(headers: {"traceparent" => OTHER, "x" => "1"})
      @producer.produce_sync(given)
      continued = span("send orders")
      @exporter.reset
      within_span("request") { @producer.produce_many_sync([given, given, order]) }
      linking = span("send orders")

      assert_equal [{"traceparent" => OTHER, "x" => "1"}] * 3, headers.first(3)
      assert_equal({topic: "orders", payload: "1", headers: {"traceparent" => OTHER, "x" => "1"}}, given)
      assert_equal [OTHER.split("-")[1], OTHER.split("-")[2]], [continued.hex_trace_id, continued.hex_parent_span_id]
      assert_child(span("request"), linking)
      assert_equal [["b7ad6b7169203331"]] * 2, [linked(continued), linked(linking)]
      assert_equal traceparent(linking), headers.last["traceparent"]
    end

    test "[traces] headers of another system are kept, next to the context" do
      @producer.produce_sync(order(headers: {"b3" => "1-2-1", "x-datadog-trace-id" => %w[7 8], "baggage" => "a=1"}))
      @producer.produce_sync(order(headers: {"traceparent" => "of something else"}))

      assert_equal [{"b3" => "1-2-1", "x-datadog-trace-id" => %w[7 8], "baggage" => "a=1",
                     "traceparent" => traceparent(spans.first)}, {"traceparent" => "of something else"}], headers
    end

    # Passes a value of the context on, as the propagation of baggage does.
    class Tenants
      KEY = ::OpenTelemetry::Context.create_key("tenant")

      def inject(carrier, context:, setter:) = setter.set(carrier, "tenant", context.value(KEY))
      def extract(carrier, context:, getter:) = context.set_value(KEY, getter.get(carrier, "tenant"))
      def fields = ["tenant"]
    end

    test "other values of the context travel with the message" do
      OTel.propagation = OTel::Context::Propagation::CompositeTextMapPropagator.compose_propagators([OTel.propagation,
        Tenants.new])
      OTel::Context.with_value(Tenants::KEY, "acme") { @producer.produce_sync(order) }

      assert_equal({"traceparent" => traceparent(span("send orders")), "tenant" => "acme"}, headers.first)
    end

    test "a message that isn't sent is an error of the span, with the code of Kafka's error" do
      assert_raises(MessageInvalidError) { @producer.produce_sync(order(key: 7)) }
      assert_raises(MessageInvalidError) { @producer.produce_async(nil) }
      refused = ProduceError.new("queue full", topic: "orders", code: :queue_full)
      @producer.middleware.append(->(_message) { raise refused })
      assert_raises(ProduceError) { @producer.produce_async(order) }

      assert_equal %w[Penstock::MessageInvalidError Penstock::MessageInvalidError queue_full],
        spans.map { |one| one.attributes["error.type"] }
      assert_equal [OTel::Trace::Status::ERROR] * 3, spans.map { |one| one.status.code }
      assert_equal ["send orders", "send", "send orders"], spans.map(&:name)
      assert_equal [["exception"]] * 3, spans.map { |one| one.events.map(&:name) }
    end

    test "what isn't an Array, and headers that aren't any, are refused as always" do
      assert_raises(MessageInvalidError) { @producer.produce_many_sync("text") }
      assert_raises(MessageInvalidError) { @producer.produce_sync(order(headers: "text")) }
      assert_raises(MessageInvalidError) { @producer.produce_many_sync([order(headers: {a: 1}), 3]) }
    end

    test "[traces] a buffered message carries the context it was buffered in; the flush links to it" do
      within_span("request") { @producer.buffer(order) }
      @producer.buffer(order)
      @producer.flush_sync
      flush = span("send orders")

      assert_equal [traceparent(span("request")), traceparent(flush)], headers.map { |own| own["traceparent"] }
      assert_equal [span("request").hex_span_id], linked(flush)
      assert_equal 2, flush.attributes["messaging.batch.message_count"]
    end

    test "a call with a producer's variant, a tombstone and a call in a transaction of its own are one span each" do
      transactional = Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:9", "transactional.id": "t"}
        config.client_class = Testing::BufferedClient
      end
      Monitors::OpenTelemetry.install(transactional)
      @producer.with(max_wait_timeout: 1_000).produce_sync(order)
      @producer.tombstone_sync(topic: "orders", key: "1", partition: 0)
      transactional.produce_sync(order(topic: "alone"))
      transactional.produce_many_sync([order(topic: "many")] * 2)
      transactional.transaction { |tx| tx.produce_async(order(topic: "inside")) }

      assert_equal ["send alone", "send inside", "send many", "send orders", "send orders"], spans.map(&:name).sort
    ensure
      transactional&.close
    end

    test "a span that isn't sampled is passed on as such" do
      OTel.tracer_provider.sampler = OTel::SDK::Trace::Samplers::ALWAYS_OFF
      @producer.produce_sync(order)

      assert_match(/\A00-\h{32}-\h{16}-00\z/, headers.first["traceparent"])
      assert_empty spans
    end

    test "an error of the SDK is its own: the message is sent" do
      OTel.tracer_provider.id_generator = nil
      @producer.produce_sync(order)

      assert_equal [nil], headers
      assert_equal "penstock: a span", @trace_errors.pop.first
    end

    test "a letter that is prepared gets the context of the call that has failed, without a span" do
      failed = tracer.start_span("process orders")
      Monitors::OpenTelemetry::Spans.failed_call = OTel::Trace.context_with_span(failed)
      prepared = @producer.ready(order)

      assert_equal failed.context.hex_span_id, prepared[:headers]["traceparent"].split("-")[2]
      assert_equal({"traceparent" => OTHER}, @producer.ready(order(headers: {"traceparent" => OTHER}))[:headers])
      assert_empty spans
    ensure
      Monitors::OpenTelemetry::Spans.failed_call = nil
    end

    test "a producer that was replaced, or installed on twice, has one span per call" do
      Monitors::OpenTelemetry.install(@producer)
      @producer.produce_sync(order)

      assert_equal 1, spans.size
    end
  end
end
