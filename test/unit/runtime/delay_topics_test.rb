# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "penstock"
require "penstock/routing/delay_tiers"
require "penstock/runtime/delay_topics"

class DelayTopicsTest < Penstock::TestCase
  Runtime = Penstock::Runtime
  TIERS = Penstock::Routing::DelayTiers.new("shop", [1_000, 5_000])
  Topic = Struct.new(:features)

  # A cluster that knows some topics; the others are created, or refused.
  class Cluster
    attr_reader :made

    def initialize(known, refused: false)
      @known = known
      @refused = refused
      @made = {}
    end

    def topics(**) = @known

    def create_topic(name, **options)
      raise Penstock::KafkaError.build(number: 29, name: "TOPIC_AUTHORIZATION_FAILED", message: "no") if @refused
      @made[name] = options
    end
  end

  def check(cluster)
    topics = [Topic.new({}), *TIERS.each.map { |tier| Topic.new({delay_tier: tier}) }]
    @log = StringIO.new
    Runtime::BootTopics.new(->(&block) { block.call(cluster) }, Logger.new(@log)).check!(Runtime::DelayTopics.wanted(topics))
    cluster.made
  end

  test "a missing topic is created with one partition, and keeps its records for longer than any delay" do
    made = check(Cluster.new({"shop.delay.1" => 1}))

    assert_equal ["shop.delay.2"], made.keys
    assert_equal 1, made["shop.delay.2"][:partitions]
    config = made["shop.delay.2"][:config]
    assert_operator config[:"retention.ms"], :>, Penstock::Routing::DelayTiers::DELAYS.last
    assert_equal [-1, "delete"], config.values_at(:"retention.bytes", :"cleanup.policy")
    assert_includes @log.string, "created the topic shop.delay.2 for messages that wait 5000 ms"
  end

  test "what can't be created is an error at boot that names the topic and its properties" do
    error = assert_raises(Penstock::ConfigurationError) { check(Cluster.new({"shop.delay.2" => 1}, refused: true)) }

    reason = "routes: delay_topics: delayed messages wait in shop.delay.1, which doesn't exist and can't be created: "
    assert error.message.start_with?(reason), error.message
    assert_match(/Create it with 1 partition and retention\.ms=518400000, /, error.message)
  end
end
