# frozen_string_literal: true

require "test_helper"
require "json"
require "socket"
require "tmpdir"
require "penstock/instrumentation/metrics/catalogue"
require "support/child"
require "support/delivering"
require "support/embedded_broker"
require "support/free_port"
require "support/prometheus_text_parser"
require "support/promtool"
require "support/ruby_program"
require "support/started"
require "support/swarm/process"

module Penstock
  # The metrics that a running application sends to StatsD, and shows to Prometheus.
  class ExportersTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::Delivering
    include TestSupport::Started

    extend TestSupport::EmbeddedBroker::OnePerClass

    PROGRAM = File.expand_path("../support/exporters/program.rb", __dir__)
    DASHBOARDS = File.expand_path("../../docs/dashboards", __dir__)
    KNOWN = Instrumentation::Metrics::Catalogue::ALL.map(&:name)
    TOPICS = %w[orders payments payments.dead refunds returns returns.retry.1 charges charges.dead default default.dead].freeze
    # On Grafana's dashboard, but not of a server whose group, connection and process are well.
    RARE = %w[penstock_consumer_quarantined_messages_total penstock_consumer_lost_partitions_total
      penstock_consumer_connection_resets_total].freeze
    # Without what only a rebalance or a stop brings.
    KARAFKA = %w[
      messages.consumed messages.consumed.bytes consume.attempts consume.errors receive.errors connection.connects
      connection.disconnects network.latency.avg network.latency.p95 network.latency.p99 consumer.lags consumer.lags_delta
      error_occurred consumer.messages consumer.batches consumer.offset consumer.consumed.time_taken consumer.batch_size
      consumer.processing_lag consumer.consumption_lag consumer.tick worker.total_threads worker.processing worker.enqueued_jobs
    ].map { |name| "karafka.#{name}" }.freeze

    def self.topics = TOPICS.to_h { |name| [name, 1] }

    # Runs the application until each name was sent.
    # @return [Array<Array>] kind, name, value and tags
    def sent(names, awaited, **more)
      Dir.mktmpdir do |folder|
        out = File.join(folder, "out")
        bootstrap = self.class.cluster.kafka.transform_keys(&:to_s).fetch("bootstrap.servers")
        env = {"BOOTSTRAP" => bootstrap, "NAMES" => names, "OUT" => out, "AWAITED" => awaited.join(" "), **more}
        reader, writer = IO.pipe
        result = TestSupport::Child.run(TestSupport::RubyProgram.command(PROGRAM), timeout: 90 * TestSupport::Wait::TIME_FACTOR,
          env: env, err: writer)
        writer.close
        assert result.success?, "#{result}: #{reader.read}"
        @scrape = File.read("#{out}.scrape", encoding: "UTF-8") if File.exist?("#{out}.scrape")
        File.readlines(out).map { |line| JSON.parse(line) }
      ensure
        [reader, writer].compact.each(&:close)
      end
    end

    # @param key [String] of the queries
    # @return [Array<String>] names of metrics
    def on_dashboard(name, key)
      queries = JSON.parse(File.read(File.join(DASHBOARDS, "#{name}.json"))).to_s.scan(/"#{key}"=>"((?:[^"\\]|\\.)+)"/).flatten
      names = queries.flat_map { |query| query.scan(/\b(?:penstock|process)_[a-z_]+/) }
      names.map { |one| KNOWN.include?(one) ? one : one.sub(/_(?:bucket|sum|count)\z/, "") }.uniq
    end

    # Those of a swarm are in test/process/metrics_test.rb.
    def on_grafana = on_dashboard("grafana", "expr").reject { |name| name.start_with?("penstock_swarm_") } - RARE

    test "[datadog/appsignal] [metrics] an application sends every metric of Datadog's dashboard, and only those of the " \
      "catalogue; a scrape of it has every metric of Grafana's" do
      names, scraped = on_dashboard("datadog", "query"), on_grafana
      [names, scraped].each { |found| assert_operator found.size, :>, 20 }
      calls = sent("penstock", names, "SCRAPED" => scraped.join(" "), "HEALTH_PORT" => TestSupport::FreePort.take.first.to_s)

      assert_empty scraped - TestSupport::PrometheusTextParser.parse(@scrape).keys
      assert_empty TestSupport::Promtool.problems(@scrape)
      assert_empty names - calls.map { |_kind, name| name }
      assert_empty calls.map { |_kind, name| name }.uniq - KNOWN
      assert_includes calls, ["count", "penstock_consumer_messages_total", 1, %w[group:shop topic:orders]]
      assert_includes calls, ["count", "penstock_consumer_skipped_messages_total", 1, %w[topic:refunds]]
    end

    test "[datadog/appsignal] with Karafka's names, an application sends what its dashboards show" do
      calls = sent("karafka", KARAFKA)

      consumed = calls.select { |_kind, name, *| name == "karafka.messages.consumed" }
        .select { |*, tags| tags == %w[consumer_group:shop] } # there is another group, of delayed jobs
      assert_operator consumed.sum { |_kind, _name, value| value }, :>=, 1
      assert_includes calls.map { |_kind, name| name }, "waterdrop.acknowledged"
      assert_empty calls.select { |_kind, name, value| name == "karafka.consumer.lags" && value.negative? }
    end

    test "[datadog/appsignal] each node of a swarm sends its own by UDP, with its number" do
      server = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
      topics = Array.new(2) { "t#{rand(1 << 40)}" }.each { |name| self.class.cluster.create_topic(name, partitions: 1) }
      kafka = {**self.class.cluster.kafka, "statistics.interval.ms": 100}
      run = started(TestSupport::SwarmRun::Process.new({kafka: kafka, group: "g#{rand(1 << 40)}", nodes: 2,
        topics: topics.each_with_index.to_h { |name, node| [name, [node]] }, statsd_port: server.addr[1]}))
      run.await_members(2)
      deliver(self.class.cluster.kafka, topics.map { |topic| {topic: topic, payload: "x"} })
      received = []
      run.await("metrics of both nodes") do
        received.concat(server.recvfrom_nonblock(65_536).first.lines(chomp: true)) while server.wait_readable(0)
        %w[0 1].all? { |node| counted?(received, topics[node.to_i], node) && up?(received, node) }
      end
      run.signal(:TERM)

      assert_equal 0, run.await_end, run.tail
    ensure
      server&.close
    end

    def counted?(received, topic, node)
      received.any? { |line| line.match?(/\Apenstock_consumer_messages_total:1\|c\|#.*topic:#{topic},node:#{node}\z/) }
    end

    def up?(received, node) = received.include?("penstock_ready:1|g|#node:#{node}")
  end
end
