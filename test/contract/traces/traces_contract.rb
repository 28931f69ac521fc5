# frozen_string_literal: true

require "opentelemetry/instrumentation/active_job"
require "penstock/admin"
require "support/active_jobs"
require "support/outbox"
require "support/rules"
require "support/traces"
require_relative "../failing/failing_contract"

module Penstock
  # Spans of what is produced and consumed, with any broker.
  module TracesContract
    include FailingContract
    include TestSupport::ActiveJobs
    include TestSupport::Traces

    extend TestSupport::Rules

    Topics = Struct.new(:orders, :dead, :mails, :jobs)
    OTel = ::OpenTelemetry

    # Enqueued by a consumer.
    class ReceiptJob < TestSupport::ActiveJobs::Base
      def perform(value)
        OTel.tracer_provider.tracer("test").in_span("job's query") { done << value }
      end
    end

    rule "[traces] request, outbox, relay, consumer, retry, dead letter, delayed message and job are one trace; headers of " \
      "another system are kept" do
      topics, seen = Topics.new(*%w[orders dead mails jobs].map { |name| unique(name) }), queue
      running = shop(topics, seen)
      within_span("request") { enqueue_orders(topics) }
      with_outbox { assert_equal 2, Penstock::Outbox.relay.drain }
      assert_equal [["7"], ["7"]], take(seen, 2).map { |headers| headers.values_at("x-datadog-trace-id") }.sort_by(&:to_s)
      assert_equal "receipt", take(done, 1).first
      await_spans("process #{topics.dead}", "process #{topics.mails}", "process #{topics.jobs}", "send #{topics.dead}")
      running.stop

      assert_equal 1, spans.map(&:hex_trace_id).uniq.size, outline
      assert_orders(topics)
      assert_sent_on(topics)
    end

    rule "[traces] by default each call begins a trace, with a link to what produced its records" do
      topic, seen = topic_with(0), queue
      running = tracing(topic) { messages.each { |message| seen << message.raw_payload } }
      running.application.producer.produce_many_sync([{topic: topic, payload: "1", partition: 0}] * 2)
      produce(topic, ["untraced"])
      take(seen, 3)
      running.stop

      calls = spans_named("process #{topic}")
      calls.each { |call| assert_root(call) }
      assert_equal [span("send #{topic}").hex_span_id], calls.flat_map { |call| linked(call) }.uniq
      assert_equal [group], calls.map { |call| call.attributes["messaging.consumer.group.name"] }.uniq
    end

    {"keys in parallel" => ->(_) { parallel(by: :key) },
     "records in parallel, in fibers" => ->(_) { [parallel(by: :message), run_on(:fibers, max: 10)] }}.each do |name, options|
      rule "[traces] #{name} have spans of their own, each in its own trace" do
        topic, seen = topic_with(0), queue
        running = tracing(topic, options, concurrency: 4, traces: {spans: :message}) do
          messages.each do |message|
            OTel.tracer_provider.tracer("test").in_span("query") { Thread.pass }
            seen << message.raw_payload
          end
        end
        producer = running.application.producer
        20.times { |index|
          within_span("request") {
            producer.produce_sync(topic: topic, payload: "p", key: "k#{index % 5}", partition: 0)
          }
        }
        take(seen, 20)
        running.stop

        ways = spans_named("query").map { |one| way(one) }
        assert_equal [["query", "process #{topic}", "send #{topic}", "request"]] * 20, ways, outline
        assert_equal 20, spans_named("query").map(&:hex_trace_id).uniq.size
      end
    end

    rule "[traces] records of a retry topic keep their context; one without a context gets that of its first call" do
      topic, retries, seen = topic_with(0), queue, queue
      running = tracing(topic, ->(_) { retry_topics(delays: [100], finally: false) }, traces: {parent: :producer}) do
        headers = messages.first.raw_headers
        raise ArgumentError, "no" unless headers.key?("penstock_attempt")
        seen << headers["traceparent"]
      end
      running.application.monitor.subscribe("retry_topic.dispatched") { |event| retries << event[:to] }
      running.application.producer.produce_sync(topic: topic, payload: "traced", partition: 0)
      traced = take(seen, 1).first
      produce(topic, ["untraced"])
      untraced = take(seen, 1).first
      running.stop

      assert_equal traceparent(span("send #{topic}")), traced
      first = spans_named("process #{topic}").find { |call| untraced == traceparent(call) }
      assert first, outline
      assert_root(first)
      assert_retries(topic, take(retries, 2).uniq, first)
    end

    private

    # -- a shop: an order that is bad and one that is retried, a mail that is delayed, a job --

    def shop(topics, seen)
      topics.each { |name| create_topic(name, 1) }
      application = shop_application.application
      order, note = order_consumer(topics), note_consumer(seen)
      application.routing.draw do
        delay_topics delays: [100, 500]
        topic(topics.orders) do
          consumer order
          parallel by: :key
          dead_letter_queue topic: topics.dead, max_retries: 1
        end
        [topics.dead, topics.mails].each { |name| topic(name) { consumer note } }
        active_job_topic(topics.jobs, dead: false)
      end
      Monitors::OpenTelemetry.install(application, parent: :producer)
      OTel::Instrumentation::ActiveJob::Instrumentation.instance.install(propagation_style: :child, span_naming: :job_class)
      enqueue_to(application)
      yield_running(application)
    end

    # As a class: the outbox belongs to the application of the process.
    def shop_application
      map, name = kafka, group
      Class.new(App) do
        setup do |config|
          config.client_id = config.group_id = name
          config.kafka = {**map, "auto.commit.interval.ms": 50}
          config.logger = Logger.new(nil)
          config.pause.timeout = config.pause.max_timeout = 20
        end
      end
    end

    def order_consumer(topics)
      Class.new(BaseConsumer) do
        define_method(:consume) do
          messages.each do |message|
            raise ArgumentError, "bad" if message.raw_payload == "bad" || attempt == 1
            ReceiptJob.set(queue: topics.jobs).perform_later("receipt")
            mail = {topic: topics.mails, payload: "mail", headers: message.raw_headers.slice("x-datadog-trace-id")}
            Penstock.app.delays.schedule(mail, at: Time.now + 0.2)
          end
        end
      end
    end

    def note_consumer(seen)
      Class.new(BaseConsumer) { define_method(:consume) { messages.each { |message| seen << message.raw_headers } } }
    end

    def enqueue_orders(topics)
      with_outbox do
        ActiveRecord::Base.transaction do
          %w[bad good].each do |payload|
            Penstock::Outbox.enqueue(topic: topics.orders, payload: payload, key: payload, headers: {"x-datadog-trace-id" => "7"})
          end
        end
      end
    end

    def with_outbox
      @folder ||= Dir.mktmpdir.tap { |folder| TestSupport::Outbox.sqlite(folder) }
      yield
    end

    def teardown
      super
    ensure
      if @folder
        TestSupport::Outbox.disconnect
        FileUtils.remove_entry(@folder)
      end
    end

    # The relay's spans, and those of the calls, are below the request's, whose context the rows have kept.
    def assert_orders(topics)
      relayed, calls = spans_named("send #{topics.orders}"), spans_named("process #{topics.orders}")
      [*relayed, *calls].each { |one| assert_child(span("request"), one) }
      assert_equal [2, 4], [relayed.size, calls.size], outline
      assert_equal [1, 1, 2, 2], calls.map { |call| call.attributes["penstock.attempt"] }.sort
      failed = calls.select { |call| call.status.code == OTel::Trace::Status::ERROR }
      assert_equal ["ArgumentError"] * 3, failed.map { |call| call.attributes["error.type"] }
      assert_equal [["exception"]] * 3, failed.map { |call| call.events.map(&:name) }
    end

    def assert_sent_on(topics)
      call = spans_named("process #{topics.orders}").reject { |one| one.status.code == OTel::Trace::Status::ERROR }.first
      assert_equal [["send #{topics.dead}", "request"], ["process #{topics.dead}", "request"]],
        [way(span("send #{topics.dead}")), way(span("process #{topics.dead}"))]
      assert_equal ["send #{group}.delay.1", "process #{topics.orders}", "request"], way(span("process #{topics.mails}")).drop(1)
      assert_equal ["job's query", "#{ReceiptJob.name} process", "process #{topics.jobs}", "send #{topics.jobs}",
        "#{ReceiptJob.name} publish", "process #{topics.orders}", "request"], way(span("job's query"))
      assert_child(call, span("#{ReceiptJob.name} publish"))
    end

    def assert_retries(topic, retries, first)
      assert_equal 1, retries.size
      sent, calls = spans_named("send #{retries.first}"), spans_named("process #{retries.first}")
      assert_equal [[topic, 1]] * 2, sent.map { |one| one.attributes.values_at("penstock.source.topic", "penstock.attempt") }
      assert_child(span("send #{topic}"), sent.first)
      assert_child(span("send #{topic}"), calls.first)
      assert_child(first, calls.last)
    end

    # -- helpers --

    def tracing(topic, options = ->(_) {}, traces: {}, **settings, &consume)
      consumer = Class.new(BaseConsumer) { define_method(:consume, &consume) }
      application = build(topic, consumer, options, ->(_config) {}, settings)
      Monitors::OpenTelemetry.install(application, **traces)
      yield_running(application)
    end

    def await_spans(*names)
      wait_until(20, "spans #{names}", state: -> { outline }) { (names - spans.map(&:name)).empty? }
    end

    # @return [Array<String>] its name, its parent's, and so on
    def way(one)
      parents = spans.to_h { |each| [each.hex_span_id, each] }
      way = []
      while one
        way << one.name
        one = parents[one.hex_parent_span_id]
      end
      way
    end

    def outline = spans.map { |one| [way(one).join(" < "), one.hex_trace_id[0, 4], one.attributes].join(" ") }.join("\n")
  end
end
