# frozen_string_literal: true

require "test_helper"
require "penstock"

# An application written as a class, before it runs.
class AppTest < Penstock::TestCase
  KAFKA = {"bootstrap.servers": "127.0.0.1:1"}.freeze

  class Consumer < Penstock::BaseConsumer
    def consume = nil
  end

  def setup
    @drawn = []
  end

  def teardown
    @drawn.each { |app| Penstock.forget_app(app) }
  end

  def app(&block)
    Class.new(Penstock::App).tap do |made|
      @drawn << made
      made.setup do |config|
        config.kafka = KAFKA
        config.client_id = "shop"
        block&.call(config)
      end
    end
  end

  test "each state has its predicate, of which the first is true before anything runs" do
    states = %i[initializing initialized supervising running quieting quiet stopping stopped terminated]

    assert_equal [true, *[false] * 8], states.map { |state| app.public_send(:"#{state}?") }
    refute_predicate app, :done?
  end

  test "in a process that only produces, the setup ends with the first use of the producer" do
    seen = []
    producer = Penstock::Producer.new { |config| config.kafka, config.deliver = KAFKA, false }
    mine = app { |config| config.producer = producer }
    mine.monitor.subscribe("app.initialized") { seen << mine.config.client_id }
    assert_equal [[], true], [seen, mine.initializing?]
    2.times { mine.producer }

    assert_equal [%w[shop], true], [seen, mine.initialized?]
  ensure
    producer&.close
  end

  test "an application class has its environment, its folder and its groups" do
    mine = app
    mine.routes.draw do
      topic(:orders) { consumer Consumer }
      consumer_group(:reports) do
        topic(:orders) { consumer Consumer }
        subscription_group(:idle) { topic(:old) { active false } }
      end
    end

    assert_equal mine.config.environment, mine.env
    assert_equal Penstock.root, mine.root
    assert_equal %w[app reports], mine.consumer_groups.map(&:id)
    assert_equal mine.consumer_groups, mine.groups
    assert_equal({"app" => %w[default], "reports" => %w[default]},
      mine.subscription_groups.to_h { |group, connections| [group.id, connections.map(&:name)] })
  end

  test "calls on Penstock::App itself go to the application of the process" do
    mine = app

    assert_equal "shop", Penstock::App.config.client_id
    assert_same mine.application, Penstock::App.application
    assert_predicate Penstock::App, :initializing?
    Penstock::App.routes.draw { topic(:orders) { consumer Consumer } }
    assert_equal %w[app], mine.consumer_groups.map(&:id)
  end

  test "without an application Penstock::App raises, instead of becoming an unnoticed application" do
    error = assert_raises(Penstock::ConfigurationError) { Penstock::App.setup { |config| config.client_id = "lost" } }

    assert_equal "no application is defined: Penstock::App isn't one. Write `class PenstockApp < Penstock::App`, or load " \
      "your boot file first", error.message
  end

  test "the producer's block reads the application's properties as they were written" do
    seen = {}
    mine = app do |config|
      config.kafka = {**KAFKA, "linger.ms": 20, "enable.ssl.certificate.verification": false, acks: "all"}
      config.producer { |own| seen.update(own.kafka) }
    end
    mine.application.validate!

    assert_equal [20, false, "all"], seen.values_at(:"linger.ms", :"enable.ssl.certificate.verification", :acks)
  end

  test "a mistake in the producer's block is reported with those of settings and routes, not by the first message" do
    mine = app { |config| config.producer { |own| own.max_payload_sise = 5 } }
    mine.routes.draw { topic(:orders) { consumer Consumer } }
    error = assert_raises(Penstock::ConfigurationError) { mine.application.validate! }

    assert_equal "config.producer, max_payload_sise: a producer has no such setting. Did you mean max_payload_size?",
      error.message
  end

  test "the block is run once for that, and again after a later setup" do
    runs = 0
    mine = app { |config| config.producer { |own| runs += own.idle_disconnect_timeout.zero? ? 1 : 0 } }
    mine.routes.draw { topic(:orders) { consumer Consumer } }
    3.times { mine.application.validate! }
    assert_equal 1, runs

    mine.setup { |config| config.producer { |own| own.max_payload_size = "big" } }
    assert_raises(Penstock::ConfigurationError) { mine.application.validate! }
  end

  test "the routed topics are listed by group, for queries about all of them" do
    mine = app
    mine.routes.draw do
      topic(:orders) { consumer Consumer }
      topic(:old) { active false }
      pattern(/audit/) { consumer Consumer }
      consumer_group(:reports) { topic(:orders) { consumer Consumer } }
    end

    assert_equal({"app" => %w[orders], "reports" => %w[orders]}, mine.application.routes.topic_names(active: true))
    assert_equal({"app" => %w[orders old], "reports" => %w[orders]}, mine.application.routes.topic_names(active: false))
  end

  test "a node's producer has the node's settings, also where the boot file had already created it to subscribe to it" do
    mine = app do |config|
      config.kafka = {**KAFKA, "transactional.id": "shop"}
      config.producer { |own| own.kafka[:"linger.ms"] = 7 }
    end
    heard = []
    mine.producer.monitor.subscribe("producer.closed") { |event| heard << event[:producer_id] }
    before = mine.producer
    mine.application.become_node(1)

    assert_same before, mine.producer
    assert_equal %w[shop-1 shop-1 7 150000], mine.producer.config.kafka
      .values_at(:"client.id", :"transactional.id", :"linger.ms", :"message.timeout.ms").map(&:to_s)
    mine.producer.close
    assert_equal [before.id], heard
  end

  test "a producer given to the application stays as it is in a node" do
    given = Penstock::Producer.new { |config| config.kafka = KAFKA }
    mine = app { |config| config.producer = given }
    mine.producer
    mine.application.become_node(1)

    assert_equal "penstock", given.config.kafka[:"client.id"]
  end

  test "commands of the admin use the settings" do
    listener = Object.new.tap { |one| def one.on_oauthbearer_token_refresh(_event) = nil }
    mine = app do |config|
      config.admin.max_wait_time = 7_000
      config.admin.max_retries_duration = 8_000
      config.admin.retry_backoff = 90
      config.oauth.token_provider_listener = listener
    end

    assert_equal({timeout_ms: 7_000, visible_ms: 8_000, pause_ms: 90, token_provider: listener},
      Penstock::Config::KafkaMap.admin_options(mine.application.config))
  end
end
