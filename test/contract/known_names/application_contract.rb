# frozen_string_literal: true

require "support/consuming"
require "support/rules"

module Penstock
  # The expectations that users of Karafka have of a running application's names: states, events, workers, errors. With any
  # broker; including classes define `kafka`.
  module KnownApplicationContract
    extend TestSupport::Rules

    rule "[TSTP quiet] app.quiet comes when the running work has ended, after quieting and before stopping, with that state" do
      topic, begun, release, told = topic_with(1), queue, queue, queue
      running = consuming(topic, hooks: {shutdown: -> { told << "hook" }}) do
        begun << true
        release.pop
      end
      application = running.application
      %w[quieting quiet stopping stopped terminated].each do |state|
        application.monitor.subscribe("app.#{state}") do |event|
          told << [state, application.lifecycle.state.to_s, event[:server_id].class]
        end
      end
      take(begun, 1)
      application.quiet!
      assert_equal [["quieting", "quieting", String]], take(told, 1)
      observe_for(0.3) { assert_empty told, "the work hasn't ended" }
      release << true
      assert_equal ["hook", ["quiet", "quiet", String]], take(told, 2)
      assert_equal [true, true, false], [application.quiet?, application.done?, application.running?]
      running.stop

      assert_equal %w[stopping stopped terminated], take(told, 3).map(&:first)
    end

    rule "worker.scaling.up is published when the workers start; their number can be read and changed" do
      topic, seen, told = topic_with(1), queue, queue
      application = build(topic, Class.new(BaseConsumer) { define_method(:consume) { seen << true } }, ->(_) {}, ->(_) {},
        concurrency: 3)
      application.monitor.subscribe("worker.scaling.up") do |event|
        told << [application.running?, *event.payload.values_at(:workers_pool, :from, :to)]
      end
      running = yield_running(application)
      take(seen, 1)
      started = take(told, 1).first

      assert_equal [false, 0, 3], started.values_at(0, 2, 3)
      assert_same application.workers, started[1]
      assert_equal [3, 1, false], [application.workers.size, application.workers.alive, application.workers.stopped?]
      assert_equal 3, application.workers.scale(5)
      assert_equal [5, [3, 5]], [application.workers.size, take(told, 1).first.last(2)]
      assert_raises(ArgumentError) { application.workers.scale(0) }
      assert_predicate application.execution_mode, :embedded?
      running.stop
      assert_predicate application.workers, :stopped?
    end

    rule "an error of a consumer names its place and the offset from which it is tried again" do
      topic, calls = topic_with(4), queue
      running = consuming(topic, config: ->(config) { config.pause.timeout = 10 }) do
        calls << true
        mark_as_consumed(messages.to_a[1]) if calls.size == 1 && messages.size == 4
        raise "no database" if calls.size == 1
      end
      event = take(running.errors, 1).first

      assert_equal ["consumer.consume.error", topic, 0], event.payload.values_at(:type, :topic, :partition)
      assert_equal "no database", event[:error].message
      assert_includes [0, 2], event[:seek_offset]
      assert_kind_of BaseConsumer, event[:caller]
    end

    rule "an error of a connection has the ids of its group" do
      consumer = Class.new(BaseConsumer) { define_method(:consume) { nil } }
      application = build("nothing", consumer, ->(_) {}, ->(config) { config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }, {})
      running = yield_running(application)
      event = take(running.errors, 1).first

      assert_equal "librdkafka.error", event[:type]
      assert_equal [group, group], event.payload.values_at(:consumer_group_id, :group_id)
      assert_equal ["#{group}_default_0", String], [event[:subscription_group_id], event[:client].class]
    end

    rule "statistics, rebalances and jobs have the payload that listeners read" do
      topic, seen, told = topic_with(1), queue, {}
      application = build(topic, Class.new(BaseConsumer) { define_method(:consume) { seen << true } }, ->(_) {}, ->(_) {},
        kafka: {"statistics.interval.ms": 100})
      keys = {
        "statistics.emitted" => %i[statistics subscription_group_id consumer_group_id group_id],
        "rebalance.partitions_assign" => %i[subscription_group subscription_group_id consumer_group_id group_id client_id tpl],
        "rebalance.partitions_assigned" => %i[subscription_group_id consumer_group_id group_id client_id tpl],
        "worker.process" => %i[job jobs_queue], "worker.processed" => %i[job jobs_queue time],
        "worker.completed" => %i[job jobs_queue],
        "consumer.consume" => %i[caller topic partition], "consumer.consumed" => %i[caller time],
        "consumer.shutdown" => %i[caller time],
        "connection.listener.running" => %i[subscription_group], "app.running" => %i[server_id], "app.terminated" => %i[server_id]
      }
      keys.each_key { |name| application.monitor.subscribe(name) { |event| told[name] ||= event } }
      running = yield_running(application)
      take(seen, 1)
      wait_until(20, "statistics") { told["statistics.emitted"] }
      running.stop

      keys.each { |name, wanted| assert_equal [], wanted - told.fetch(name).payload.keys, name }
      assert_equal [topic, 0], told["rebalance.partitions_assigned"][:tpl].first
      assert_equal group, told["statistics.emitted"][:consumer_group_id]
    end

    rule "events of Karafka that don't exist are refused when they are subscribed to, also by a listener's method" do
      monitor = Instrumentation::Monitor.new
      Compat::Karafka::Events::HINTS.each do |name, hint|
        assert_includes assert_raises(UnknownEventError) { monitor.subscribe(name) { nil } }.message, hint
      end
      listener = Class.new { def on_client_pause(_event) = nil }.new
      assert_includes assert_raises(UnknownEventError) { monitor.subscribe(listener) }.message, "consumer.consuming.pause"
    end

    rule "a monitor takes events of the application's own, blocks with their time, and listeners that leave again" do
      monitor, seen = Instrumentation::Monitor.new, []
      monitor.notifications_bus.register_event("app.mine")
      block = monitor.subscribe("app.mine") { |event| seen << [event.id, event[:of], event.payload.key?(:time)] }
      assert_equal 5, monitor.instrument("app.mine", of: 1) { 5 }
      monitor.instrument("app.mine", of: 2)
      monitor.unsubscribe(block)
      monitor.instrument("app.mine", of: 3)

      assert_equal [["app.mine", 1, true], ["app.mine", 2, false]], seen
      assert_includes monitor.available_events, "app.mine"
    end
  end
end
