# frozen_string_literal: true

# Measures the time that an exporter of metrics adds to a call of `consume`, on one thread, without Kafka. Clients of others
# send nowhere: StatsD's has no methods that do anything, Yabeda no adapter, OpenTelemetry no reader that exports.
require_relative "../rounds"
Rounds.use_gems
require "logger"
require "penstock"
require "penstock/execution/unit_runner"

class PenstockApp < Penstock::App
  setup { |config| config.logger = Logger.new(nil) }
end

# Takes what Datadog's client takes.
class Nowhere
  def count(_name, _value, tags:) = tags
  def gauge(_name, _value, tags:) = tags
  def histogram(_name, _value, tags:) = tags
  def distribution(_name, _value, tags:) = tags
end

INSTALL = {
  "prometheus" => -> { PenstockApp.setup { |config| config.metrics = true } },
  "stats_d" => lambda do
    require "penstock/monitors/stats_d"
    Penstock::Monitors::StatsD.install(PenstockApp, Nowhere.new)
  end,
  "karafka" => lambda do
    require "penstock/monitors/stats_d"
    Penstock::Monitors::StatsD.install(PenstockApp, Nowhere.new, names: :karafka)
  end,
  "open_telemetry" => lambda do
    require "penstock/monitors/open_telemetry_metrics"
    require "opentelemetry-metrics-sdk"
    provider = OpenTelemetry::SDK::Metrics::MeterProvider.new
    provider.add_metric_reader(OpenTelemetry::SDK::Metrics::Export::InMemoryMetricPullExporter.new)
    Penstock::Monitors::OpenTelemetryMetrics.install(PenstockApp, meter_provider: provider)
  end,
  "yabeda" => lambda do
    require "penstock/monitors/yabeda"
    Penstock::Monitors::Yabeda.install(PenstockApp)
    Yabeda.configure!
  end
}.freeze

Topic = Struct.new(:consumer_group_id)
Caller = Struct.new(:topic)

# Makes the check of a worker before each call public.
class Runner < Penstock::Execution::UnitRunner
  public :no_listeners?
end

rounds = Rounds.new(Probe["calls"])
payload = {topic: "orders", partition: 0, first_offset: 0, last_offset: 9, messages_count: 10, attempt: 1, time: 5,
           caller: Caller.new(Topic.new("shop"))}
probe = Probe.new
probe.first
added, objects =
  if (system = Probe["system"])
    idle = Penstock::Instrumentation::Monitor.new
    idle.subscribe("consumer.consumed") { nil }
    without, objects_without = rounds.best { idle.instrument("consumer.consumed", payload) }
    INSTALL.fetch(system).call
    monitor = PenstockApp.monitor
    with, objects_with = rounds.best { monitor.instrument("consumer.consumed", payload) }
    [with - without, objects_with - objects_without]
  else
    runner = Runner.new(monitor: PenstockApp.monitor, middleware: Penstock::Execution::MiddlewareStack.new, clock: nil)
    empty, = rounds.best { runner }
    checked, objects_checked = rounds.best { runner.no_listeners? }
    [checked - empty, objects_checked]
  end
probe.finish({us_a_call: added.round(3), objects_a_call: objects.round(1)}, records: Probe["calls"])
