# frozen_string_literal: true

require "test_helper"
require "json"
require "logger"
require "net/http"
require "socket"
require "stringio"
require "tmpdir"
require "penstock/application"
require "penstock/swarm/node_identity"
require "support/prometheus_text_parser"
require "support/promtool"

module Penstock
  class ApplicationMetricsTest < TestCase
    Parser = TestSupport::PrometheusTextParser

    def setup
      super
      @output = StringIO.new
    end

    def application(metrics: true, port: nil, monitor: Instrumentation::Monitor.new)
      Application.new("metrics") do |config|
        config.logger = Logger.new(@output)
        config.monitor = monitor
        config.health.port = port
        config.metrics = metrics
      end
    end

    def parsed(text)
      assert_empty TestSupport::Promtool.problems(text)
      Parser.parse(text)
    end

    def listened(application) = application.monitor.subscriptions.reject { |_name, list| list.empty? }.keys

    test "without the setting nothing is subscribed or loaded, and there is no text" do
      one = application(metrics: false)

      assert_empty listened(one)
      assert_nil one.metrics
      code = "require 'penstock'; app = Penstock::Application.new; app.monitor; app.metrics; " \
             "print Penstock::Instrumentation.const_defined?(:Metrics)"
      output = IO.popen([RbConfig.ruby, "-Ilib", "-e", code], &:read)
      assert_equal "false", output
    end

    test "with it, the text has what the application published, and its state" do
      one = application
      one.monitor.instrument("message.acknowledged", producer_id: "p", topic: "orders", partition: 0, offset: 0,
        delivery_report: nil, label: nil)
      found = parsed(one.metrics)

      assert_equal({["penstock_producer_messages_total", {"topic" => "orders"}] => 1.0},
        found["penstock_producer_messages_total"].values)
      # It has no server.
      assert_equal [1.0, nil], %w[penstock_live penstock_ready].map { |name| found[name]&.values&.[]([name, {}]) }
      assert_in_delta Time.now.to_f, found["process_start_time_seconds"].values.values.first, 60
    end

    test "a setting that was recorded after the first use of the monitor counts when the application runs" do
      one = application(metrics: false)
      one.monitor
      one.setup { |config| config.metrics = true }
      one.extensions.prepare_to_run

      assert_includes listened(one), "consumer.consumed"
    end

    test "errors are logged by default, although the metrics listen to them, and each event is counted once" do
      one = application
      2.times { one.extensions.prepare_to_run }
      one.monitor.instrument("error.occurred", type: "librdkafka.error", error: IOError.new("no broker"))

      assert_match(/no broker/, @output.string)
      assert_equal [1.0], parsed(one.metrics)["penstock_errors_total"].values.values
    end

    test "the application's producers are counted by their own monitors, once, also those that share the application's" do
      monitor = Instrumentation::Monitor.new
      one = application(monitor: monitor)
      own = one.extensions.metrics
      [monitor, Instrumentation::Monitor.new].each do |target|
        own.subscribe_to_producer(target)
        target.instrument("producer.queue_full", producer_id: "p")
      end
      found = parsed(one.metrics)

      assert_equal [2.0], found["penstock_producer_queue_full_total"].values.values
    end

    test "a producer of the application counts; without the setting nothing listens to its messages" do
      [[true, 1], [false, 0]].each do |metrics, listeners|
        producer = application(metrics: metrics).tap { |one|
          one.setup { |config|
            config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
          }
        }.separate_producer
        assert_equal listeners, producer.monitor.subscriptions["message.acknowledged"].size
        assert_equal 1, producer.monitor.subscriptions["error.occurred"].size
        producer.close
      end
    end

    test "a node of a swarm doesn't count what the supervisor had counted" do
      one = application
      one.monitor.instrument("producer.queue_full", producer_id: "p")
      one.become_node(2)

      assert_equal [0.0], parsed(one.metrics)["penstock_producer_queue_full_total"].values.values
    end

    # As a supervisor forks it: the node counts, and ends in order or not at all.
    def node(application, index, full, ends: true)
      child = fork do
        application.become_node(index)
        full.times { application.monitor.instrument("producer.queue_full", producer_id: "p") }
        application.monitor.instrument("app.terminated", server_id: "s") if ends
        exit!
      end
      ::Process.wait(child)
      application.monitor.instrument("swarm.manager.node_ended", node: Swarm::NodeIdentity.new(index, child), pid: child,
        reason: "exit code 0", timeout: 0)
    end

    def series(application, name) = parsed(application.metrics)[name].values.transform_keys { |_name, labels| labels["node"] }

    test "a supervisor's text has its own numbers, and those of all its nodes and their successors up to their very end" do
      one = application.tap { |app| app.setup { |config| config.swarm.nodes = 2 } }
      full = "penstock_producer_queue_full_total"
      one.monitor.instrument("app.supervising", server_id: "s")
      one.monitor.instrument("producer.queue_full", producer_id: "p")
      assert_equal({nil => 1.0, "0" => 0.0, "1" => 0.0}, series(one, full))
      [3, 4].each { |count| node(one, 1, count) } # no scrape in between

      assert_equal({nil => 1.0, "0" => 0.0, "1" => 7.0}, series(one, full))
      assert_equal({"0" => 0.0, "1" => 0.0}, series(one, "penstock_swarm_node_up"))
      assert_equal({"1" => 2.0}, series(one, "penstock_swarm_node_ends_total"))
      node(one, 0, 5, ends: false)
      assert_includes 0..5, series(one, full)["0"]
    ensure
      one.extensions.metrics.instance_variable_get(:@file)&.close
    end

    test "the breakers that hold a topic are a gauge that disappears with them" do
      one = application
      vitals = {live: true, ready: true, running: 3, partitions: 4, rss_bytes: 5_000,
                breakers: [{topics: %w[a b]}, {topics: ["a"]}]}
      one.define_singleton_method(:vitals) { vitals }
      found = parsed(one.metrics)

      assert_equal({"a" => 2.0, "b" => 1.0},
        found["penstock_consumer_breakers_open"].values.transform_keys { |_name, labels| labels["topic"] })
      assert_equal [3.0, 4.0, 5_000.0], %w[penstock_running_jobs penstock_partitions process_resident_memory_bytes]
        .map { |name| found[name].values[[name, {}]] }
      vitals.delete(:breakers)
      refute_includes parsed(one.metrics), "penstock_consumer_breakers_open"
    end

    def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

    def opened(application)
      application.instance_variable_get(:@endpoints).open(notify: false) { yield }
    end

    test "the health page has them at /metrics, also by HEAD, and JSON at the other paths" do
      port = free_port
      opened(application(port: port)) do
        answer = Net::HTTP.get_response("127.0.0.1", "/metrics", port)

        assert_equal ["200", "text/plain; version=0.0.4; charset=utf-8"], [answer.code, answer["content-type"]]
        assert_equal answer.body.bytesize, answer["content-length"].to_i
        assert_includes parsed(answer.body.force_encoding(Encoding::UTF_8)), "penstock_live"
        assert_nil Net::HTTP.start("127.0.0.1", port) { |http| http.head("/metrics") }.body
        assert_equal true, JSON.parse(Net::HTTP.get("127.0.0.1", "/live", port))["live"]
        assert_match(%r{/health, /metrics}, Net::HTTP.get("127.0.0.1", "/nothing", port))
      end
    end

    test "without the setting /metrics is a 404 that names the setting" do
      port = free_port
      opened(application(metrics: false, port: port)) do
        answer = Net::HTTP.get_response("127.0.0.1", "/metrics", port)

        assert_equal "404", answer.code
        assert_match(/set config.metrics = true/, answer.body)
      end
    end

    test "metrics without a port are mentioned in the log" do
      opened(application) { nil }
      assert_match(/nothing answers `GET \/metrics`: set config.health.port/, @output.string)
      @output.truncate(0)
      opened(application(metrics: false)) { nil }
      assert_empty @output.string.delete("\0")
    end
  end
end
