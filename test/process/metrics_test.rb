# frozen_string_literal: true

require "test_helper"
require "net/http"
require "support/delivering"
require "support/embedded_broker"
require "support/free_port"
require "support/prometheus_text_parser"
require "support/promtool"
require "support/started"
require "support/swarm/process"

module Penstock
  # Scrapes of a swarm while its nodes die, are frozen and are replaced.
  class MetricsOfASwarmTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::Delivering
    include TestSupport::Started

    extend TestSupport::EmbeddedBroker::OnePerClass

    Parser = TestSupport::PrometheusTextParser
    MESSAGES = "penstock_consumer_messages_total"
    UP = "penstock_swarm_node_up"

    def setup
      super
      @port = TestSupport::FreePort.take.first
      @topics = Array.new(3) { "t#{rand(1 << 40)}" }.each { |name| self.class.cluster.create_topic(name, partitions: 1) }
      @greatest = Hash.new(0)
    end

    # Each node has a topic of its own, so that it is known what each has to count.
    def swarm(**more)
      plan = {kafka: {**self.class.cluster.kafka, "statistics.interval.ms": 100}, group: "g#{rand(1 << 40)}", nodes: 3,
              topics: @topics.each_with_index.to_h { |name, node| [name, [node]] }, metrics: true, health_port: @port,
              swarm: {supervision_interval: 100, **more}}
      @run = started(TestSupport::SwarmRun::Process.new(plan)).tap { |run| run.await_members(3) }
    end

    def produce(*payloads)
      deliver(self.class.cluster.kafka, @topics.product(payloads).map { |topic, payload| {topic: topic, payload: payload} })
    end

    # Every scrape parses strictly, and no counter is below its value in any scrape before.
    def scrape
      text = Net::HTTP.get("127.0.0.1", "/metrics", @port).force_encoding(Encoding::UTF_8)
      families = Parser.parse(text)
      families.each_value do |family|
        next if family.type == "gauge"
        family.values.each do |series, value|
          assert_operator value, :>=, @greatest[series], series.inspect
          @greatest[series] = value
        end
      end
      (@greatest.keys - families.each_value.flat_map { |family| family.values.keys }).then { |gone| assert_empty gone }
      [families, text]
    end

    # @return [Array<Integer>] messages by node
    def messages(families = scrape.first)
      found = families[MESSAGES]&.values.to_h
      Array.new(3) { |node| found.sum { |(_name, labels), value| (labels["node"] == node.to_s) ? value.to_i : 0 } }
    end

    def up = scrape.first[UP].values.map { |(_name, labels), value| [labels["node"], value.to_i] }.sort.map(&:last)

    def await_messages(*counts) = @run.await("messages #{counts}") { messages == counts }
    # A node that was killed runs again what it had not committed: at least that many.
    def await_at_least(*counts) = @run.await("at least #{counts}") { messages.zip(counts).all? { |found, least| found >= least } }

    def await_lag_of(*nodes)
      @run.await("the lag of nodes #{nodes}") do
        lag = scrape.first["penstock_consumer_lag_messages"]&.values.to_h
        lag.keys.map { |_name, labels| Integer(labels["node"]) }.sort == nodes
      end
    end

    def await_up(*values) = @run.await("up #{values}") { up == values }

    # Ends a node, and scrapes until its successor runs.
    def replaced(index, signal)
      first = @run.node(index)
      @run.signal(signal, first)
      @run.await("the successor of node #{index}") { scrape && @run.node(index) != first }
    end

    # Never more than ran; less only by what a killed node had not reported.
    def assert_not_more_than_ran
      found = messages
      ran = @run.journal.select { |word, *| word == "end" }.map { |line| line[3] }.tally
      @topics.each_with_index { |topic, node| assert_operator found[node], :<=, ran[topic] }
    end

    test "[metrics] a scrape of three nodes has the numbers of each; a killed node's stay and its successor's are added" do
      swarm
      produce("x", "x")
      await_messages(2, 2, 2)
      await_up(1, 1, 1)
      _families, text = scrape
      assert_empty TestSupport::Promtool.problems(text)
      await_lag_of(0, 1, 2)
      replaced(1, :KILL)
      produce("x")
      await_at_least(3, 3, 3)
      await_up(1, 1, 1)
      ends = scrape.first["penstock_swarm_node_ends_total"].values
      assert_equal({{"node" => "1"} => 1.0}, ends.transform_keys(&:last))
      assert_not_more_than_ran
    end

    test "[metrics] a frozen node isn't up and keeps its counters until it continues; one that ends in order loses nothing" do
      swarm
      produce("x")
      await_messages(1, 1, 1)
      await_lag_of(0, 1, 2)
      @run.signal(:STOP, @run.node(2))
      await_up(1, 1, 0)
      assert_equal [1, 1, 1], messages
      await_lag_of(0, 1)
      @run.signal(:CONT, @run.node(2))
      await_up(1, 1, 1)
      replaced(2, :TERM)
      produce("x")
      await_messages(2, 2, 2)
      @run.signal(:TERM)
      assert_equal 0, @run.await_end, @run.tail
    end

    test "nodes of a mold are counted in the same way" do
      swarm(mold: true)
      produce("x")
      await_messages(1, 1, 1)
      replaced(0, :KILL)
      produce("x")
      await_at_least(2, 2, 2)
      assert_not_more_than_ran
    end
  end
end
