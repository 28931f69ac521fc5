# frozen_string_literal: true

require "net/http"
require "support/consuming"
require "support/free_port"
require "support/prometheus_text_parser"
require "support/promtool"

module Penstock
  # Reading and changing an application's state while it runs; with any broker.
  module RunningContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    rule "[worker scaling] more workers take waiting units at once, fewer finish running ones; events report it" do
      topic, begun, release, told = unique("topic").tap { |name| create_topic(name, 1) }, queue, queue, queue
      produce_keyed(topic, Array.new(24) { |index| ["k#{index}", index.to_s] })
      options = ->(_) { parallel by: :key, max_partitions: 20 }
      running = consuming(topic, options, concurrency: 2) do
        begun << messages.first.offset
        release.pop
      end
      application = running.application
      %w[up down].each do |name|
        application.monitor.subscribe("worker.scaling.#{name}") do |event|
          told << [name, event[:from], event[:to]] unless event[:from].zero? # their start
        end
      end
      take(begun, 2)
      assert_equal 2, application.scale(7)
      take(begun, 5)
      assert_equal 7, application.scale(1)
      observe_for(0.3) { assert_empty begun }
      7.times { release << true }
      take(begun, 1)
      observe_for(0.3) { assert_empty begun }

      assert_equal [["up", 2, 7], ["down", 7, 1]], take(told, 2)
      [0, -1, nil, "3"].each { |bad| assert_match(/at least 1/, assert_raises(ArgumentError) { application.scale(bad) }.message) }
    ensure
      24.times { release&.push(true) }
    end

    rule "a second run! is refused, and the first continues and can be stopped" do
      topic, seen = topic_with(1), queue
      running = consuming(topic) { seen << messages.size }
      take(seen, 1)
      error = assert_raises(ConfigurationError) { running.application.run!(traps: false) }
      assert_match(/run!: this application runs already, since it was started at .*consuming.rb:\d+/, error.message)
      produce(topic, %w[more])
      take(seen, 1)

      assert_equal 0, running.stop
      assert_predicate running.application, :terminated?
    end

    rule "a topic of higher priority goes before one that waited longer, as soon as a worker is free" do
      plain, urgent = topic_with(1, partitions: 2), unique("urgent").tap { |name| create_topic(name, 1) }
      seen, release = queue, queue
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) do
          seen << [topic.name, partition]
          release.pop
        end
      end
      application = build(plain, consumer, ->(_) {}, ->(_) {}, concurrency: 1)
      draw(application, urgent, consumer, ->(_) { workers priority: 1 })
      yield_running(application)
      assert_equal [[plain, 0]], take(seen, 1)
      [[plain, 1], [urgent, 0]].each do |name, partition|
        produce(name, %w[0], partition: partition)
        wait_until(20, "#{name} in the run queue", state: -> { application.snapshot }) do
          application.snapshot.flat_map { |one| one[:lanes] }
            .any? { |lane| lane.values_at(:topic, :partition, :in_flight) == [name, partition, 1] }
        end
      end
      3.times { release << true }

      assert_equal [[urgent, 0], [plain, 1]], take(seen, 2)
    ensure
      5.times { release&.push(true) }
    end

    rule "[assignments/generations] they list the partitions, and how often each was assigned" do
      topic, seen = topic_with(1, partitions: 2), queue
      first = consuming(topic, kafka: {"heartbeat.interval.ms": 200}) { seen << true }
      take(seen, 1)
      application = first.application
      route = application.routes.topics.first
      await_partitions(application, topic => [0, 1])
      assert_equal [route], application.assignments.keys
      assert_equal({route => {0 => 1, 1 => 1}}, application.generations)

      second = consuming(topic, kafka: {"heartbeat.interval.ms": 200}) { seen << true }
      wait_until(60, "one each") { [first, second].all? { |one| partitions_of(one.application)[topic]&.size == 1 } }
      moved = partitions_of(second.application)[topic].first
      second.stop
      assert_empty second.application.assignments
      await_partitions(application, topic => [0, 1])

      assert_equal [2, 1], [moved, 1 - moved].map { |partition| application.generation(route, partition) }
      assert_equal 0, application.generation(route, 7)
      first.stop
      assert_empty application.assignments
    end

    rule "[lag compensation] the lag of a paused partition keeps growing, and doesn't jump back when it resumes" do
      topic, lags, paused = topic_with(20), queue, queue
      hasty = lambda do |config|
        config.lag_compensation.interval = 200
        config.lag_compensation.pause_age = 500
      end
      kafka = {"statistics.interval.ms": 200, "queued.min.messages": 1, "auto.commit.interval.ms": 100}
      running = consuming(topic, kafka: kafka, config: hasty, max_messages: 1) do
        next unless paused.empty?
        mark_as_consumed(messages.last)
        paused << self
        pause(:consecutive, 600_000)
      end
      running.application.monitor.subscribe("statistics.emitted") do |event|
        numbers = event[:statistics].dig("topics", topic, "partitions", "0")
        lags << numbers.values_at("consumer_lag", "consumer_lag_d") if numbers
      end
      await_lag(lags, 19)
      produce(topic, Array.new(30, &:to_s))
      await_lag(lags, 49)
      paused.pop.tap { paused << true }.resume
      wait_until(20, "all of it", state: -> { running.application.snapshot }) { committed(topic) == 50 }
      await_lag(lags, 0) { |lag, moved| assert_operator lag, :<=, 49, moved }
    end

    rule "[poll loop] if one poll loop fails, the others keep consuming, and it continues with a new connection" do
      healthy, failing = topic_with(1), topic_with(1)
      seen, resets = queue, queue
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [topic.name, message.offset] } }
      end
      ENV["PENSTOCK_FAULTS"] = "before_commit=raise" # the first commit of this process, which only one loop makes soon
      application = build(healthy, consumer, ->(_) {}, ->(_) {}, {kafka: {"auto.commit.interval.ms": 600_000}})
      application.routing.draw do
        consumer_group("#{failing}-group") do
          topic(failing) do
            consumer consumer
            kafka("auto.commit.interval.ms": 100, inherit: true)
          end
        end
      end
      application.monitor.subscribe("client.reset") { |event| resets << event[:subscription_group].topics.map(&:name) }
      running = yield_running(application)
      assert_equal [[failing, 0], [healthy, 0]].sort, take(seen, 2).sort
      error = wait_until(20, "the failure", state: -> { application.snapshot }) { !running.errors.empty? && running.errors.pop }
      assert_equal ["connection.listener.fetch_loop.error", Runtime::Faults::Injected], [error[:type], error[:error].class]
      produce(healthy, %w[1])
      produce(failing, %w[1])
      await_records(seen, [healthy, 1], [failing, 1])

      assert_equal [true, [[failing]]], [running.alive?, all(resets)]
      generations = application.routes.topics.to_h { |topic| [topic.name, application.generation(topic, 0)] }
      assert_equal({healthy => 1, failing => 2}, generations)
      assert_equal 0, running.stop
      @group = "#{failing}-group"
      assert_equal 2, committed(failing)
    end

    # --- helpers

    # Others may come meanwhile, also a second time.
    def await_records(seen, *wanted)
      wait_until(60, "records #{wanted}") do
        wanted -= all(seen)
        wanted.empty?
      end
    end

    # Reads until this value appears.
    def await_lag(lags, wanted)
      seen = []
      wait_until(20, "a lag of #{wanted}", state: -> { seen.last(10) }) do
        until lags.empty?
          seen << lags.pop
          yield(*seen.last) if block_given?
        end
        seen.any? { |lag, _moved| lag == wanted }
      end
    end

    def partitions_of(application) = application.assignments.transform_keys(&:name)

    def await_partitions(application, expected)
      wait_until(60, expected.to_s, state: -> { application.assignments }) { partitions_of(application) == expected }
    end

    rule "[lock metrics] the time of busy workers is measured, for events, metrics and the health of the process" do
      topic, seen, measured = topic_with(3), queue, queue
      running = consuming(topic, lock_metrics: true, metrics: true, config: lambda { |config|
        config.monitor.subscribe("workers.measured") { |event| measured << event.payload }
      }) { messages.each { |message| IO.select(nil, nil, nil, 0.01) || seen << message.offset } }
      take(seen, 3)
      running.stop
      busy = all(measured).sum { |one| one[:busy_ms] }

      assert_operator busy, :>=, 30
      assert_includes running.application.metrics, "penstock_worker_busy_seconds_total"
      assert_equal 5, running.application.vitals.dig(:load, :workers)
      assert_operator running.application.vitals.dig(:load, :busy), :>, 0
    end

    rule "a scrape of a server has what its consumer, its producer and its connection did" do
      topic, dead, port, done = unique("topic"), unique("dead"), TestSupport::FreePort.take.first, queue
      [topic, dead].each { |name| create_topic(name, 1) }
      produce(topic, %w[a bad c])
      options = ->(_) { dead_letter_queue topic: dead, max_retries: 1 }
      settings = ->(config) { config.health.port = port }
      running = consuming(topic, options, config: settings, metrics: true, max_messages: 1,
        kafka: {"statistics.interval.ms": 100}) do
        raise IOError, "bad" if messages.first.raw_payload == "bad"
        done << messages.first.raw_payload
      end
      assert_equal %w[a c], take(done, 2)
      value = lambda do |name, **labels|
        text = Net::HTTP.get("127.0.0.1", "/metrics", port).force_encoding(Encoding::UTF_8)
        assert_empty TestSupport::Promtool.problems(text)
        TestSupport::PrometheusTextParser.parse(text)[name[/\A.*?(?=_count\z|\z)/]]&.values.to_h[[name,
          labels.transform_keys(&:to_s)]]
      end
      wait_until(20, "the lag") {
        value.call("penstock_consumer_lag_messages", group: group, topic: topic, partition: "0") == 0.0
      }

      assert_equal 2.0, value.call("penstock_consumer_messages_total", group: group, topic: topic)
      assert_equal 2.0, value.call("penstock_consumer_consume_duration_seconds_count", group: group, topic: topic)
      assert_equal 2.0, value.call("penstock_errors_total", topic: topic, type: "consumer.consume.error", error: "IOError")
      assert_equal [1.0] * 2, %w[retries dead_letters].map { |name| value.call("penstock_consumer_#{name}_total", topic: topic) }
      wait_until(10, "the report") { value.call("penstock_producer_messages_total", topic: dead).to_i == 1 }
      assert_operator value.call("penstock_consumer_rebalances_total", group: group), :>=, 1
      assert_equal [5.0, 1.0, 1.0, 1.0], %w[workers live ready partitions].map { |name| value.call("penstock_#{name}") }
      assert_operator value.call("process_resident_memory_bytes"), :>, 1 << 20
      running.stop
    end
  end
end
