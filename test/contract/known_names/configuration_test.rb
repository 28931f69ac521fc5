# frozen_string_literal: true

require "test_helper"
require "logger"
require "penstock"
require "penstock/app"
require "penstock/consumer/base_consumer"
require "penstock/producer"

module Penstock
  # The expectations that users of Karafka have of settings and of an application before it runs: each holds, or booting
  # refuses it with what to do instead. Without a broker.
  class KnownConfigurationTest < TestCase
    KAFKA = {"bootstrap.servers": "127.0.0.1:1"}.freeze
    Listener = Class.new { def on_oauthbearer_token_refresh(_event) = nil }

    # Settings that keep their name, with a valid value.
    KNOWN = {
      client_id: "shop", group_id: "billing", consumer_persistence: false, initial_offset: "latest", max_messages: 5,
      max_wait_time: 500, shutdown_timeout: 5_000, concurrency: 3, worker_thread_priority: -2, strict_topics_namespacing: false,
      strict_declarative_topics: false, pause_timeout: 100, pause_max_timeout: 5_000, pause_with_exponential_backoff: false
    }.freeze
    # Those in a section.
    NESTED = {
      "pause.timeout" => 100, "pause.max_timeout" => 5_000, "pause.with_exponential_backoff" => false,
      "oauth.token_provider_listener" => Listener.new, "swarm.nodes" => 2, "admin.group_id" => "admins",
      "admin.max_wait_time" => 1_000, "admin.max_retries_duration" => 1_000, "admin.retry_backoff" => 100,
      "admin.poll_timeout" => 10, "admin.kafka" => {"fetch.message.max.bytes": 5_000}
    }.freeze
    # Those that don't exist, with a word of what to do instead.
    REFUSED = {
      "internal.tick_interval" => "Remove it", "internal.supervision_sleep" => "Remove it",
      "internal.forceful_exit_code" => "code 2", "internal.forceful_shutdown_wait" => "shutdown_timeout",
      "internal.swarm.orphaned_exit_code" => "code 3",
      "internal.swarm.supervision_interval" => "config.swarm.supervision_interval",
      "internal.swarm.liveness_interval" => "config.swarm.supervision_interval",
      "internal.swarm.node_report_timeout" => "config.swarm.liveness_timeout",
      "internal.swarm.node_restart_timeout" => "config.swarm.restart_backoff", "internal.connection.reset_backoff" => "0.5 s",
      "internal.connection.listener_thread_priority" => "config.worker_thread_priority",
      "internal.connection.proxy.commit.max_attempts" => "retried", "internal.processing.jobs_queue_class" => "workers max:",
      "internal.processing.scheduler_class" => "workers max:", "internal.processing.worker_job_call_wrapper" => "middleware",
      "internal.processing.critical_errors" => "config.critical_errors", "internal.processing.coordinator_class" => "Remove it",
      "internal.statistics.consumer_groups.lag_compensation.interval" => "config.lag_compensation.interval",
      "internal.active_job.deserializer" => "active_job_topic", "internal.messages.parser" => "deserializers",
      "recurring_tasks.interval" => "recurring tasks", "scheduled_messages.interval" => "delay_topics",
      "encryption.active" => "encryption", "license.token" => "no license"
    }.freeze

    def teardown = @drawn&.each { |one| Penstock.forget_app(one) }

    def application(**settings, &block)
      Application.new("known") do |config|
        config.kafka = KAFKA
        config.logger = Logger.new(nil)
        settings.each { |name, value| config.public_send(:"#{name}=", value) }
        block&.call(config)
      end
    end

    def set(config, path, value)
      *sections, name = path.split(".")
      sections.reduce(config) { |inside, section| inside.public_send(section) }.public_send(:"#{name}=", value)
    end

    def read(config, path) = path.split(".").reduce(config) { |inside, name| inside.public_send(name) }

    def problems(**settings, &block)
      assert_raises(ConfigurationError) { application(**settings, &block).validate! }.problems.map(&:to_s)
    end

    test "a known setting is accepted and read under its name" do
      KNOWN.each { |name, value| assert_equal value, application(name => value).validate!.config.public_send(name), name }
    end

    test "a known setting in a section is accepted and read there, also with setup" do
      NESTED.each do |path, value|
        built = application { |config| set(config, path, value) }.validate!
        assert_equal value, read(built.config, path), path
      end
      assert_equal 70, application { |config| config.pause.setup { |pause| pause.timeout = 70 } }.config.pause.timeout
    end

    test "the flat and the nested names of pauses are the same settings" do
      built = application(pause_timeout: 90).config

      assert_equal [90, 90], [built.pause.timeout, built.pause_timeout]
    end

    test "the defaults are those that users know" do
      known = {
        max_messages: 100, shutdown_timeout: 60_000, concurrency: 5, worker_thread_priority: -1, initial_offset: "earliest",
        consumer_persistence: true, strict_topics_namespacing: true, strict_declarative_topics: false, group_id: "app",
        pause_timeout: 1_000, pause_max_timeout: 30_000, pause_with_exponential_backoff: true, max_wait_time: 1_000
      }
      config = application.config

      assert_equal known, known.keys.to_h { |name| [name, config.public_send(name)] }
      assert_equal [3, 60_000, 60_000], [config.swarm.nodes, config.admin.max_wait_time, config.admin.max_retries_duration]
    end

    test "settings that don't exist are refused at boot, all together, each with what to do instead" do
      found = problems { |config| REFUSED.each_key { |path| set(config, path, 1) } }
      REFUSED.each do |path, instead|
        line = found.find { |one| one.include?("config.#{path}:") || one.include?("config.#{path.split(".").first}:") }
        assert line, path
        assert_includes line, instead, path
      end
    end

    test "librdkafka's properties have Symbols as keys, and what Penstock decides is refused by name" do
      {"fetch.min.bytes" => 1, :"group.id" => "g", :"enable.auto.commit" => true, :"enable.auto.offset.store" => true,
       :"statistics.unassigned.include" => false, :"linger.mss" => 1}.each do |name, value|
        found = problems(kafka: {**KAFKA, name => value})
        assert_equal [1, true], [found.size, found.first.include?(name.to_s)], name
      end
      assert_includes problems(kafka: {}).first, "bootstrap.servers"
    end

    test "a block of config.producer is kept for the application's producer; reading it changes nothing" do
      built = application do |config|
        config.producer { |own| own.kafka[:"linger.ms"] = 7 }
        config.producer { |own| own.max_payload_size = 123 }
        config.producer
      end
      producer = built.validate!.producer

      assert_equal [7, 123], [producer.config.kafka[:"linger.ms"], producer.config.max_payload_size]
    end

    test "an assigned producer is the application's, by = or by an argument; with a block too, booting refuses both" do
      own = Producer.new do |config|
        config.kafka = KAFKA
        config.deliver = false
      end
      assert_same own, application { |config| config.producer = own }.validate!.producer
      assert_same own, application { |config| config.producer(own) }.validate!.producer
      found = problems(producer: own) { |config| config.producer { |settings| settings.max_payload_size = 1 } }
      assert_match(/config.producer: is assigned and also has a block/, found.first)
    ensure
      own&.close
    end

    test "config.logger and config.monitor are objects, in the block too, and the application's" do
      seen = nil
      built = application { |config| seen = config.monitor }

      assert_same seen, built.monitor
      assert_same seen, built.config.monitor
      assert_same built.config.logger, built.logger
      own = Instrumentation::Monitor.new
      assert_same own, application(monitor: own).monitor
    end

    test "setup may be called without a block, and several times" do
      built = Application.new("known").setup
      built.setup { |config| config.kafka = KAFKA }
      built.setup { |config| config.client_id = "second" }

      assert_equal ["second", KAFKA], [built.validate!.config.client_id, built.config.kafka]
    end

    test "the environment answers predicates and compares with a String" do
      env = Config::Environment.detect({"RACK_ENV" => "staging", "RAILS_ENV" => "test"})

      assert_predicate env, :staging?
      refute_predicate env, :production?
      assert_operator env, :==, "staging"
      assert_equal "mine", Config::Environment.detect({"PENSTOCK_ENV" => "mine", "RACK_ENV" => "staging"}).to_s
    end

    test "routes are read from the application: groups, subscription groups, topics" do
      mine = drawn { topic(:orders) { consumer KnownConfigurationTest::Idle } }

      assert_equal %w[app], mine.consumer_groups.map(&:id)
      assert_equal mine.consumer_groups, mine.groups
      assert_equal %w[orders], mine.subscription_groups.values.flatten.flat_map { |group| group.topics.map(&:name) }
      assert_match(/consumer_groups/, assert_raises(NoMethodError) { mine.routes.each }.message)
      mine.routes.redraw { topic(:clicks) { consumer KnownConfigurationTest::Idle } }
      assert_equal %w[clicks], mine.consumer_groups.first.topics.map(&:name)
    end

    test "what only Karafka's application has is refused with what to do instead" do
      mine = drawn {}
      {warmup: "swarm", run: "run!", stop: "stop!", quiet: "quiet!"}.each do |name, instead|
        assert_includes assert_raises(NoMethodError) { mine.public_send(name) }.message, instead
      end
      {:internal => "Remove it", "swarm.node" => "PenstockApp.node"}.each do |path, instead|
        assert_includes assert_raises(NoMethodError) { read(mine.config, path.to_s) }.message, instead
      end
    end

    test "before it runs, its states are readable, it has no workers, and it is standalone" do
      mine = drawn {}

      assert_equal [true, false, false, false], %i[initializing? running? quiet? done?].map { |name| mine.public_send(name) }
      assert_nil mine.workers
      assert_operator mine.execution_mode, :==, :standalone
      assert_predicate mine.execution_mode, :standalone?
      assert_equal [{}, {}], [mine.assignments, mine.generations]
    end

    Idle = Class.new(BaseConsumer) { define_method(:consume) { nil } }

    # An application class.
    def drawn(&routes)
      Class.new(App).tap do |mine|
        (@drawn ||= []) << mine
        mine.setup { |config| config.kafka = KAFKA }
        mine.routes.draw(&routes)
      end
    end
  end
end
