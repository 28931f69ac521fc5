# frozen_string_literal: true

require "test_helper"
require "penstock/config/builder"
require "penstock/config/environment"
require "penstock/delays/consumer"
require "penstock/processing/admission/pipeline"
require "penstock/routing/builder"

module Penstock
  class DelayTopicsTest < TestCase
    class Other < BaseConsumer
      def consume
      end
    end

    def settings(**more)
      Config::Builder.new(environment: Config::Environment.new("test")).record do |config|
        config.client_id = "shop"
        config.group_id = "shop"
        config.kafka = {"bootstrap.servers": "127.0.0.1:9092"}
        more.each { |name, value| config.public_send(:"#{name}=", value) }
      end.settings
    end

    def routes(settings = self.settings, &block)
      Routing::Builder.new(delay_consumer: Delays::Consumer).draw(&block).routes(settings)
    end

    def problems(...) = routes(...).problems.map(&:to_s)

    test "delay_topics draws eight topics in a consumer group of their own, once, wherever it is written" do
      found = routes do
        topic(:orders) { consumer Other }
        delay_topics
        consumer_group(:jobs) do
          delay_topics
          topic(:mails) { consumer Other }
        end
      end

      assert_empty found.problems
      assert_equal %w[shop jobs shop.delay], found.consumer_groups.map(&:id)
      assert_equal (1..8).map { |number| "shop.delay.#{number}" }, found.consumer_groups.last.topics.map(&:name)
      assert_equal [1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000], found.delay_tiers.delays
      assert_equal [Delays::Consumer], found.consumer_groups.last.topics.map(&:consumer).uniq
    end

    test "without it nothing is drawn" do
      found = routes { topic(:orders) { consumer Other } }
      assert_nil found.delay_tiers
      assert_equal ["shop"], found.consumer_groups.map(&:id)
    end

    test "no default or setting of the application drops, delays or loses a waiting record" do
      found = routes(settings(kafka: {"bootstrap.servers": "a:1", "auto.offset.reset": "latest"}, initial_offset: "latest",
        consumer_persistence: false)) do
        defaults do
          expire_in 5
          filter { false }
          manual_offset_management true
          run_on :fibers
          throttle limit: 1, interval: 1_000
        end
        delay_topics
      end
      topic = found.delay_tiers.then { |tiers| found.find(tiers.name(3)) }

      assert_empty found.problems
      assert_equal [nil, [], nil, false], topic.features.values_at(:expire_in, :filter, :throttle, :manual_offset_management)
      assert_equal ["earliest", true, :threads], [topic.initial_offset, topic.consumer_persistence, topic.features[:run_on].kind]
      assert_equal "earliest", topic.kafka[:"auto.offset.reset"]
    end

    test "names use the separator of the group; prefix: replaces the group" do
      assert_equal "my_shop_delay_1", routes(settings(group_id: "my_shop")) { delay_topics }.delay_tiers.name(1)
      assert_equal "my-shop.delay.dead", routes(settings(group_id: "my-shop")) { delay_topics }.delay_tiers.dead_letter_topic
      assert_equal "old.delay", routes { delay_topics prefix: "old" }.delay_tiers.group_id
    end

    test "mistakes are problems with their place" do
      found = problems { [delay_topics(prefix: "a"), delay_topics, delay_topics(prefix: "b")] }.first
      assert_match(/several times, with different options: prefix: "a" \(\S+:\d+\); prefix: "b" \(\S+:\d+\)\. Keep one/, found)
      assert_match(/delay_topics takes no argument without a name, not 1\. Write delay_topics prefix: "shop"\z/,
        problems { delay_topics "shop" }.first)
      assert_match(/has no option prefiks. Did you mean/, problems { delay_topics prefiks: "b" }.first)
      assert_match(/delays: must be an Array/, problems { delay_topics delays: [] }.first)
      kafka = {"bootstrap.servers": "a:1", acks: 0}
      assert_match(/with acks 0 nobody would know/, problems(settings(kafka: kafka)) { delay_topics }.first)
    end

    test "a pattern that matches delay topics would consume what waits" do
      found = problems do
        pattern(/shop\..*/) { consumer Other }
        delay_topics
      end
      assert_match(/pattern .*also matches the delay topic shop.delay.1/, found.first)
    end

    test "a group that has the name of theirs is a problem" do
      found = problems do
        consumer_group("shop.delay") { topic(:orders) { consumer Other } }
        delay_topics
      end
      assert_match(/consumer_group shop.delay: is also the group of delay_topics/, found.first)
    end

    test "strict declarations and names accept them" do
      assert_empty(problems(settings(strict_declarative_topics: true, group_id: "a.b_c")) { delay_topics })
    end

    test "their records wait for the time in their header, at most the topic's delay" do
      topic = routes { delay_topics }.find("shop.delay.2")
      assert_equal 5_000, topic.features[:delay_tier].due_within_ms
      refute_nil Processing::Admission::Pipeline.for(topic, topic_name: topic.name, partition: 0)
    end
  end
end
