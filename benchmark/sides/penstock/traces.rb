# frozen_string_literal: true

# The cost of traces, on one thread, without Kafka: the same calls with and without.
require_relative "../rounds"
Rounds.use_gems
require "logger"
require "opentelemetry/sdk"
require "penstock"
require "penstock/messages/memory_batch"
require "penstock/monitors/open_telemetry"

# Where spans end.
class Nowhere
  def export(_spans, timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
  def force_flush(timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
  def shutdown(timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
end

Consumer = Struct.new(:messages, :partition, :topic, :attempt)
Topic = Struct.new(:consumer_group_id)

def producer
  Penstock::Producer.new do |config|
    config.kafka = {"bootstrap.servers": "127.0.0.1:9"}
    config.deliver = false
    config.logger = Logger.new(nil)
  end
end

# Each record of another span.
def consumer(count)
  rows = Array.new(count) do |index|
    headers = {"traceparent" => format("00-%032x-%016x-01", index + 1, index + 1)}
    Penstock::Messages::MemoryBatch::Row.new(offset: index, payload: "x", headers: headers)
  end
  Consumer.new(Penstock::Messages.new(Penstock::Messages::MemoryBatch.new("bench", 0, rows)), 0, Topic.new("bench"), 1)
end

# @return [Array(Float, Float)] µs and objects that traces add to a call with that many records
def added(rounds, count, **options)
  layer = Penstock::Monitors::OpenTelemetry::ConsumerSpans.new(OpenTelemetry.tracer_provider.tracer("bench"),
    Penstock::Monitors::OpenTelemetry::Options.read(options))
  one = consumer(count)
  work = -> { one.messages.each { |message| message } }
  bare = rounds.best { work.call }
  rounds.best { layer.call(one, :consume, &work) }.zip(bare).map { |with, without| with - without }
end

ENV["OTEL_TRACES_EXPORTER"] = "none"
OpenTelemetry::SDK.configure do |config|
  config.logger = Logger.new(nil)
  config.add_span_processor(OpenTelemetry::SDK::Trace::Export::BatchSpanProcessor.new(Nowhere.new))
end
plain, traced = producer, producer
Penstock::Monitors::OpenTelemetry.install(traced)
require "penstock/monitors/open_telemetry/consumer_spans"
rounds, few = Rounds.new(Probe["calls"]), Rounds.new(Probe["calls"] / 50)
message = {topic: "bench", payload: "x"}
probe = Probe.new
probe.first
without, with = [plain, traced].map { |one| rounds.best { one.produce_sync(message) }.first }
call, objects = added(rounds, 1)
batch, = added(few, 100)
records, = added(few, 100, spans: :message)
probe.finish({produce_us: (with - without).round(1), call_us: call.round(1), call_objects: objects.round(1),
  batch_us: batch.round(1), record_us: ((records - batch) / 100).round(1)}, records: Probe["calls"])
