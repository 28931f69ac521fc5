# frozen_string_literal: true

require "test_helper"
require "support/routes"

class RoutingBuilderTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer
  D = RoutesSupport::OtherConsumer

  test "code that reads it as a list of groups is pointed to the methods that return them" do
    builder = Penstock::Routing::Builder.new
    %i[each map find flat_map].each do |name|
      error = assert_raises(NoMethodError) { builder.public_send(name) { |group| group } }

      assert_match(/so there is no #{name}: use PenstockApp.consumer_groups or subscription_groups/, error.message)
    end
    assert_match(/undefined method/, assert_raises(NoMethodError) { builder.nobody }.message)
  end

  test "[routing basic] a topic belongs to the group of the settings" do
    drawn = routes(settings { |config| config.group_id = "shop" }) { topic(:orders) { consumer C } }

    assert_equal ["shop"], drawn.consumer_groups.map(&:id)
    assert_equal "shop_orders", drawn.find(:orders).id
    assert_equal C, drawn.find("orders").consumer
    assert_same drawn.consumer_groups.first, drawn.find("orders").group
  end

  test "[consumer_group reopen] two draws merge topics" do
    builder = Penstock::Routing::Builder.new
    builder.draw { consumer_group(:shop) { topic(:a) { consumer C } } }
    builder.draw { consumer_group("shop") { topic(:b) { consumer C } } }
    group, *others = builder.routes(settings).consumer_groups

    assert_empty others
    assert_equal %w[a b], group.topics.map(&:name)
    assert_equal 1, group.subscription_groups.size
  end

  test "[redraw/clear] old routes are gone" do
    builder = Penstock::Routing::Builder.new
    builder.draw { topic(:a) { consumer C } }
    builder.redraw { topic(:b) { consumer C } }

    assert_equal ["b"], builder.routes(settings).topics.map(&:name)
    assert_empty builder.clear.routes(settings).topics
    refute_predicate builder, :drawn?
  end

  test "[defaults block] a topic's own values win, wherever defaults are written" do
    drawn = routes do
      topic(:a) do
        consumer C
        max_messages 5
        active true
      end
      defaults do
        max_messages 50
        active false
        manual_offset_management
      end
      topic :b
    end

    assert_equal [5, 50], drawn.topics.map(&:max_messages)
    assert_equal [true, false], drawn.topics.map(&:active?)
    assert(drawn.topics.all?(&:manual_offset_management?))
    assert_empty drawn.problems
  end

  test "[defaults block] partial arguments use the framework's defaults, not those of the block" do
    payload = ->(message) { message }
    drawn = routes do
      defaults do
        pause timeout: 5, max_timeout: 50
        deserializers key: ->(_) { "key" }
      end
      topic(:a) do
        consumer C
        pause timeout: 7
        deserializer payload
      end
    end
    topic = drawn.find(:a)

    assert_equal [7, 30_000, true], topic.pause.to_a
    assert_same payload, topic.deserializers.payload.deserializer
    assert_instance_of Penstock::Serialization::RawKey, topic.deserializers.key
  end

  test "defaults also apply to topics that no route names" do
    drawn = routes { defaults { deserializer Penstock::Serialization::Raw.new } }

    assert_instance_of Penstock::Serialization::Raw, drawn.default_topic.deserializers.payload
  end

  test "values that neither topic nor defaults set come from the settings" do
    with = settings do |config|
      config.max_messages = 7
      config.consumer_persistence = false
      config.pause.timeout = 9
      config.initial_offset = "latest"
    end
    topic = routes(with) { topic(:a) { consumer C } }.find(:a)

    assert_equal [7, false, "latest", 9, 1_000],
      [topic.max_messages, topic.consumer_persistence, topic.initial_offset, topic.pause.timeout, topic.max_wait_time]
    assert_equal [false, false, nil],
      [topic.manual_offset_management?, topic.eofed?, topic.workers_max]
  end

  test "every option of a topic is typed" do
    topic = routes do
      topic(:a) do
        consumer C
        eofed
        workers max: 3, priority: -1
        long_running_job true
        pause timeout: 1, max_timeout: 2, with_exponential_backoff: false
        config partitions: 6, replication_factor: 3, "cleanup.policy": "compact"
      end
    end.find(:a)

    assert_predicate topic, :eofed?
    assert_equal [3, -1, true], [topic.workers_max, topic.features[:workers].priority, topic.features[:long_running_job]]
    assert_equal [1, 2, false], topic.pause.to_a
    assert_equal [true, 6, 3, false, {"cleanup.policy": "compact"}], topic.declaration.to_a
  end

  test "[inactive topic] not subscribed to, but its deserializer can be looked up" do
    drawn = routes do
      topic(:a) { consumer C }
      topic(:old) do
        active false
        deserializer Penstock::Serialization::Raw.new
      end
    end

    assert_equal [["a"]], drawn.subscription_groups.map(&:subscription)
    assert_instance_of Penstock::Serialization::Raw, drawn.find(:old).deserializers.payload
    assert_empty drawn.problems
  end

  test "[same topic two consumers] allowed in two groups" do
    drawn = routes do
      consumer_group(:one) { topic(:a) { consumer C } }
      consumer_group(:two) { topic(:a) { consumer D } }
    end

    assert_empty drawn.problems
    assert_equal [C, D, C], [drawn.find(:a, :one).consumer, drawn.find(:a, "two").consumer, drawn.find(:a).consumer]
  end

  test "[namespacing rule] off if the settings switch it off" do
    drawn = routes(settings { |config| config.strict_topics_namespacing = false }) { topic("a.b_c") { consumer C } }

    assert_empty drawn.problems
  end

  test "routes are values: frozen, and printed without secrets" do
    drawn = routes {
      topic(:a) {
        consumer C
        kafka({"sasl.password": "hunter2"}, inherit: true)
      }
    }
    topic = drawn.find(:a)

    assert(([drawn, topic, topic.features, topic.kafka, topic.pause] + drawn.subscription_groups).all?(&:frozen?))
    refute_match(/hunter2/, [drawn.inspect, topic.inspect, topic.to_h.inspect, drawn.to_a.inspect].join)
    assert_equal %i[id name pattern consumer_group_id subscription_group_id consumer], topic.to_h.keys.first(6)
  end

  test "a block with a parameter receives the object instead of being evaluated in it" do
    type = C
    drawn = Penstock::Routing::Builder.new.draw do |draw|
      draw.topic(:a) { |topic| topic.consumer(type) }
    end.routes(settings)

    assert_equal C, drawn.find(:a).consumer
  end

  test "an undefined name in a block that isn't an option stays the user's NameError" do
    assert_raises(NameError) { routes { topic(:a) { consumer OrdersConsumr } } }
  end

  test "a third-party feature is a verb, typed options and checks, in one entry" do
    whole = Penstock::Config::Types::Whole.new(min: 1)
    feature = Penstock::Routing::Feature.new(:ration,
      options: {limit: Penstock::Routing::Feature::Option.new(whole, Penstock::Routing::Feature::REQUIRED)},
      value: ->(limit:) { limit },
      check: ->(topic, limit, _settings) { (limit.to_i > topic.max_messages) ? [["rations nothing", "Lower it"]] : [] })
    builder = Penstock::Routing::Builder.new(features: [*Penstock::Routing::Features.core, feature])
    builder.draw do
      topic(:a) {
        consumer C
        ration limit: 1_000
      }
      topic(:b) {
        consumer C
        ration
      }
      topic(:c) {
        consumer C
        raton limit: 1
      }
    end
    drawn = builder.routes(settings)

    assert_equal 1_000, drawn.find(:a).features[:ration]
    assert_equal ["routes: topic b: ration limit: is missing. It must be an Integer of at least 1",
      "routes: topic c: there is no option raton. Did you mean ration?",
      "routes: topic a, consumer_group app: rations nothing. Lower it"],
      drawn.problems.map { |problem| plain(problem.to_s) }
  end
end
