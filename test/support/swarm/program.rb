# frozen_string_literal: true

# A swarm whose consumers do what their records contain. Its plan comes in PENSTOCK_SWARM_TEST as JSON.

require "logger"
require "penstock"
require_relative "../planned"

module SwarmTest
  extend Penstock::TestSupport::Planned

  PLAN = plan("PENSTOCK_SWARM_TEST")
  JOURNAL = journal(PLAN.fetch(:journal))

  # Run by the mold if there is one, else by the supervisor; the plan sets what fails in it.
  def self.warm_up
    write("warm", ::Process.pid, ::Process.ppid)
    exit!(8) if PLAN[:warm_up] == "dies"
    open_producer if PLAN[:warm_up] == "opens"
    sleep if PLAN[:warm_up] == "hangs"
    SwarmTestApp.stop! if PLAN[:warm_up] == "stops"
  end

  def self.set_up(producer)
    producer.kafka = {**producer.kafka, "enable.idempotence": true}
    producer.middleware.append(->(message) { message.merge(headers: {"by" => "middleware"}) })
  end

  def self.open_producer
    @producer = Penstock::Producer.new { |config| config.kafka = PLAN.fetch(:kafka) }
    @producer.produce_async(topic: PLAN.fetch(:topics).keys.first.to_s, payload: "x")
  end

  class Consumer < Penstock::BaseConsumer
    def consume
      messages.each do |message|
        SwarmTest.write("begin", message.partition, message.offset, *message.headers["by"])
        act(message.raw_payload)
        SwarmTest.write("end", message.partition, message.offset, message.topic, Penstock.app.node)
        kept = mark_as_consumed(message)
        SwarmTest.write("mark", message.partition, message.offset, kept, Penstock.app.node)
        break unless kept
      end
    end

    private

    # A process that outlives its parent.
    def leave_behind = fork { SwarmTest.write("left", ::Process.pid) && sleep(0.3) && exit!(0) }

    def produce(topic)
      producer.produce_sync(topic: topic, payload: "x")
      SwarmTest.write("produced", Penstock.app.node, producer.idempotent?)
    end

    # Allocates more memory than the test's limit allows.
    def eat = File.read("/proc/self/cgroup").include?("penstock") && Array.new(512) { "x" * (1 << 20) }

    def act(payload)
      case payload
      when /\A\w+ (\d+)/ then sleep(Integer($1) / 1_000.0)
      when /\Aproduce (\S+)/ then produce($1)
      when /\Auntil lost or (\d+)/ then Integer($1).times { revoked? ? break : sleep(0.01) }
      when "eat" then eat
      when "ruby" then loop { nil.to_a }
      when "leaves" then ::Process.wait(fork { leave_behind && exit!(0) })
      # Numbers of ten million digits: calls of many seconds that hold Ruby's lock.
      when "c" then loop { (7**12_000_000).to_s }
      when "stubborn" then Thread.handle_interrupt(Exception => :never) { loop { sleep(1) } }
      end
    end
  end
end

class SwarmTestApp < Penstock::App
  plan = SwarmTest::PLAN
  setup do |config|
    config.client_id = "swarm"
    config.group_id = plan.fetch(:group)
    config.kafka = plan.fetch(:kafka)
    config.logger = Logger.new($stdout)
    config.shutdown_timeout = plan.fetch(:shutdown_timeout, 10_000)
    config.swarm.nodes = plan.fetch(:nodes, 2)
    config.health.port = plan[:health_port]
    config.metrics = true if plan[:metrics]
    config.producer { |own| SwarmTest.set_up(own) } if plan[:middleware]
    plan.fetch(:swarm, {}).each { |name, value| config.swarm.public_send(:"#{name}=", value) }
  end
  routes.draw do
    plan.fetch(:topics).each do |name, nodes|
      nodes = nodes.transform_keys { |node| Integer(node.name) } if nodes.is_a?(Hash)
      topic(name) do
        consumer SwarmTest::Consumer
        swarm(nodes: nodes) if nodes
        assign(*(nodes.is_a?(Hash) ? nodes.values.flatten : true)) if plan[:assign]
      end
    end
  end
  if plan[:statsd_port]
    require "datadog/statsd"
    require "penstock/monitors/stats_d"
    Penstock::Monitors::StatsD.install(self, Datadog::Statsd.new("127.0.0.1", plan[:statsd_port], buffer_flush_interval: 0.1))
  end
  monitor.subscribe("rebalance.partitions_assigned") { |event| SwarmTest.write("member", node, event[:tpl].size) }
  monitor.subscribe("app.before_warmup") do
    SwarmTest.write("shared", ::Process.pid)
    SwarmTest.warm_up unless plan.dig(:swarm, :mold)
  end
  monitor.subscribe("swarm.mold.after_fork") { SwarmTest.warm_up }
  monitor.subscribe("swarm.manager.before_fork") { |event| SwarmTest.write("asked", event[:node]) }
  monitor.subscribe("swarm.node.after_fork") { |event| exit!(9) if plan[:dies_at_boot]&.include?(event[:node]) }
end

SwarmTest.end_with_test
SwarmTestApp.controllable! if SwarmTest::PLAN[:controllable]
exit SwarmTestApp.swarm!
