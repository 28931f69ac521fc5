# frozen_string_literal: true

require "test_helper"
require "json"
require "opentelemetry/sdk"
require "support/command_line"
require "support/embedded_broker"
require "support/served"

module Penstock
  # Traces where user code runs in other processes than the one that installed them.
  class TracesInProcessesTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    TRACE = "0af7651916cd43dd8448eb211c80319c"
    REQUEST = "b7ad6b7169203331"

    # Spans are exported when the process ends, at the latest; by a thread only after ten minutes.
    TRACING = <<~RUBY
      $LOAD_PATH.concat(ENV.fetch("GEMS").split(File::PATH_SEPARATOR))
      require "opentelemetry/sdk"
      require "penstock/monitors/open_telemetry"
      class FileExporter
        def export(spans, timeout: nil)
          lines = spans.map do |span|
            JSON.generate({pid: Process.pid, name: span.name, trace: span.hex_trace_id, id: span.hex_span_id,
                           parent: span.hex_parent_span_id, attributes: span.attributes})
          end
          File.write(ENV.fetch("SPANS"), lines.join("\\n") + "\\n", mode: "a")
          OpenTelemetry::SDK::Trace::Export::SUCCESS
        end

        def force_flush(timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
        def shutdown(timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
      end

      class Work
        remove_method :shutdown # a pool has no hooks
        def act(payload) = (producer.produce_sync(topic: topic.name, payload: "sent", partition: 1) if payload == "send")
      end

      OpenTelemetry::SDK.configure do |config|
        processor = OpenTelemetry::SDK::Trace::Export::BatchSpanProcessor
        config.add_span_processor(processor.new(FileExporter.new, schedule_delay: 600_000))
      end
      Penstock::Monitors::OpenTelemetry.install(PenstockApp, parent: :producer)
    RUBY

    test "[traces] in processes of a pool, each has the spans of its own calls: the context crosses to it, and none is lost at a stop" do
      server = serve("server", env: {**common, "TOPIC_SAYS" => "run_on(:processes, max: 2)"})
      pids = run_through(server)

      refute_includes pids, server.pid
    end

    test "[traces] in a swarm, each node has the spans of its own calls" do
      swarm = serve("swarm", "--nodes", "2", env: {**common, "ASSIGN" => nil})
      pids = run_through(swarm)

      refute_includes pids, swarm.pid
    end

    private

    def common
      gems = $LOAD_PATH.grep(/opentelemetry/).join(File::PATH_SEPARATOR)
      {"MORE" => TRACING, "GEMS" => gems, "SPANS" => File.join(@dir, "spans"), "OTEL_TRACES_EXPORTER" => "none", **journal}
    end

    # @return [Array<Integer>] pids of processes with spans
    def run_through(server)
      deliver(cluster.kafka,
        [{topic: @topic, payload: "send", partition: 0, headers: {"traceparent" => "00-#{TRACE}-#{REQUEST}-01"}}])
      server.await("both records") { server.ended? || server.journal.include?("end sent\n") }
      server.signal(:TERM) unless server.ended?
      assert_equal 0, server.code, server.tail

      first, sent, second = spans
      assert_equal ["process #{@topic}", "send #{@topic}", "process #{@topic}"], [first, sent, second].map { |span| span[:name] }
      assert_equal [REQUEST, first[:id], sent[:id]], [first, sent, second].map { |span| span[:parent] }
      assert_equal [TRACE], spans.map { |span| span[:trace] }.uniq
      assert_equal 3, spans.size
      spans.map { |span| span[:pid] }
    end

    # In the order of the trace.
    def spans
      found = File.readlines(File.join(@dir, "spans")).map { |line| JSON.parse(line, symbolize_names: true) }
      way = [REQUEST]
      found.each { way << found.find { |span| span[:parent] == way.last }&.fetch(:id) }
      way.drop(1).filter_map { |id| found.find { |span| span[:id] == id } }
    end
  end
end
