# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/traces"

module Penstock
  class OpenTelemetryInstallTest < TestCase
    include TestSupport::Traces

    Traces = Monitors::OpenTelemetry

    def application(&block)
      Application.new("traced") do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:9"}
        config.group_id = config.client_id = "shop"
        config.logger = Logger.new(@log = StringIO.new)
        config.producer { |own| own.client_class = Testing::BufferedClient }
        block&.call(config)
      end
    end

    def setup
      require "penstock/testing/buffered_client"
      super
    end

    def produce(producer, topic) = producer.produce_sync(topic: topic, payload: "1")

    test "[traces] an application's producers are traced: its own, also if it exists already, and others it creates" do
      one = application
      early = one.producer
      Traces.install(one)
      separate = one.separate_producer { |own| own.id = "relay" }
      produce(early, "own")
      produce(separate, "separate")

      assert_equal ["send own", "send separate"], spans.map(&:name)
    ensure
      [early, separate].each { |producer| producer&.close }
    end

    test "a producer that the application is given is traced; one of another class stays as it is" do
      given = Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:9"}
        config.client_class = Testing::BufferedClient
      end
      theirs = Struct.new(:produce_async, :produce_sync, :close).new
      one, other = [given, theirs].map { |producer| application { |config| config.producer = producer } }
      [one, other].each { |each| Traces.install(each) }
      produce(one.producer, "given")

      assert_same theirs, other.producer
      assert_equal ["send given"], spans.map(&:name)
    ensure
      given&.close
    end

    test "[traces] what is installed twice is installed once, with other options it is refused" do
      one = application
      2.times { Traces.install(one, spans: :message) }
      produce(one.producer, "orders")
      error = assert_raises(ConfigurationError) { Traces.install(one, parent: :producer) }

      assert_equal [1, 1], [one.middleware.to_a.size, spans.size]
      assert_equal 1, one.monitor.subscriptions["dead_letter_queue.dispatched"].size
      assert_includes error.message, "is installed already with spans: :message, parent: nil. Install it once, or with the " \
        "same " \
        "options as now (spans: :call, parent: :producer)"
    ensure
      one&.producer&.close
    end

    test "its layer is around all others, and messages that go to no producer yet get the current context" do
      one = application
      one.middleware { use ->(_consumer, _action, &code) { code.call } }
      Traces.install(one)
      within_span("request") do
        one.extensions.producer_wrappers.call("outbox.enqueue", [{topic: "orders", payload: "1"}]) { |own| @own = own }
      end
      one.extensions.producer_wrappers.call("outbox.enqueue", [{topic: "orders"}]) { |own| @without = own }

      assert_equal [Traces::ConsumerSpans, Proc], one.middleware.to_a.map(&:class)
      assert_equal [{topic: "orders", payload: "1", headers: {"traceparent" => traceparent(span("request"))}}], @own
      assert_equal [{topic: "orders"}], @without
      assert_equal ["request"], spans.map(&:name)
    end

    test "[traces] wrong options are refused together, with the nearest names" do
      error = assert_raises(ConfigurationError) { Traces.install(application, spans: :messages, parent: "producer", spanz: 1) }

      ["OpenTelemetry spans: must be :call or :message, is :messages. Did you mean message?",
        "OpenTelemetry parent: must be nil or :producer, is \"producer\". Write :producer",
        "OpenTelemetry spanz: there is no such option. Did you mean spans?"].each { |text| assert_includes error.message, text }
    end

    test "what can't be traced is refused with what can; a producer has no options" do
      nothing = assert_raises(ConfigurationError) { Traces.install(:orders) }
      options = assert_raises(ConfigurationError) { Traces.install(application.producer, spans: :call) }

      assert_includes nothing.message, "can't trace :orders. Pass the application, such as PenstockApp, or a Penstock::Producer"
      assert_includes options.message, "spans only concern an application. Leave out the options"
    end

    class MissingFile < LoadError
      attr_reader :path

      def initialize(path)
        @path = path
        super("cannot load such file -- #{path}")
      end
    end

    test "[traces] a missing gem is named, with the line for the Gemfile" do
      Traces.stub(:require, ->(name) { raise MissingFile.new(name) }) do
        error = assert_raises(ConfigurationError) { Traces.install(application) }
        assert_includes error.message, "the gem opentelemetry-api can't be loaded (cannot load such file -- " \
          "opentelemetry). Add " \
          "`gem \"opentelemetry-sdk\"` to the Gemfile"
      end
    end

    test "an application without an SDK logs that its spans are dropped; with one it logs nothing" do
      one = application
      Traces.install(one)
      one.monitor.instrument("app.initialized", {server_id: "1"})
      assert_empty @log.string
      OTel.instance_variable_set(:@tracer_provider, OTel::Internal::ProxyTracerProvider.new)
      one.monitor.instrument("app.initialized", {server_id: "1"})

      assert_match(/traces: no SDK is set up, so spans are dropped. Add `gem "opentelemetry-sdk"`/, @log.string)
    end

    test "spans that the SDK still has are sent when the process ends, also one of a pool" do
      OTel.tracer_provider = OTel::SDK::Trace::TracerProvider.new
      OTel.tracer_provider.add_span_processor(processor = OTel::SDK::Trace::Export::BatchSpanProcessor.new(@exporter))
      one = application
      Traces.install(one)
      [["app.terminated", {server_id: "1"}], ["process_pool.before_exit", {pid: 1}]].each_with_index do |(event, payload), index|
        produce(one.producer, "orders")
        one.monitor.instrument(event, payload)
        assert_equal index + 1, spans.size
      end
    ensure
      processor&.shutdown
      one&.producer&.close
    end
  end
end
