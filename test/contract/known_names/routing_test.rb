# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock"

module Penstock
  # Expectations of Karafka's users about the names in routes: each means the same, or is refused with a hint, before anything
  # connects.
  class KnownRoutingTest < TestCase
    include RoutesSupport

    class Ticking < RoutesSupport::Consumer
      def tick = nil
    end

    C = RoutesSupport::Consumer
    SELF = ->(value) { value }

    # Options as Karafka's users write them, and the values of the finished route that differ from the defaults.
    SAME = {
      "active(false)" => [-> { active(false) }, {active: false}],
      "manual_offset_management" => [-> { manual_offset_management }, {manual_offset_management: true}],
      "manual_offset_management(true)" => [-> { manual_offset_management(true) }, {manual_offset_management: true}],
      "manual_offset_management(false)" => [-> { manual_offset_management(false) }, {}],
      "eofed(true)" => [-> { eofed(true) }, {eofed: true}],
      "max_messages" => [-> { max_messages 5 }, {max_messages: 5}],
      "initial_offset" => [-> { initial_offset "latest" }, {initial_offset: "latest"}],
      "consumer_persistence" => [-> { consumer_persistence false }, {consumer_persistence: false}],
      "pause" => [-> { pause(timeout: 100, max_timeout: 200, with_exponential_backoff: false) },
        {pause: {timeout: 100, max_timeout: 200, exponential: false}}],
      "delay_by" => [-> { delay_by(60_000) }, {delay_by: {delay_ms: 60_000, header: nil, max: nil}}],
      "expire_in" => [-> { expire_in(60_000) }, {expire_in: {ttl_ms: 60_000, header: nil, topic: nil}}],
      "throttle" => [-> { throttle(limit: 5, interval: 1_000) }, {throttle: {limit: 5, interval: 1_000, per: :partition}}],
      "throttling" => [-> { throttling(limit: 5, interval: 1_000) }, {throttle: {limit: 5, interval: 1_000, per: :partition}}],
      "inline_insights(true)" => [-> { inline_insights(true) }, {inline_insights: {required: false}}],
      "inline_insights(required: true)" => [-> { inline_insights(required: true) }, {inline_insights: {required: true}}],
      "adaptive_iterator" => [-> { adaptive_iterator(active: true, safety_margin: 10, clean_after_yielding: false) },
        {adaptive_iterator: {marking_method: :mark_as_consumed, clean_after_yielding: false}}],
      "assign(0, 1)" => [-> { assign(0, 1) }, {assign: [0, 1]}],
      "assign(true)" => [-> { assign(true) }, {assign: :all}],
      "swarm(nodes: 0..2)" => [-> { swarm(nodes: 0..2) }, {swarm: {nodes: 0..2, split: nil}}],
      "config" => [-> { config(partitions: 3, replication_factor: 2, "retention.ms": 5) },
        {config: {active: true, partitions: 3, replication_factor: 2, protect: false, details: {"retention.ms": 5}}}],
      "kafka with inherit" => [-> { kafka({"fetch.min.bytes": 2}, inherit: true) },
        {kafka: {"bootstrap.servers": "127.0.0.1:9092", "fetch.min.bytes": 2}}],
      "kafka without inherit" => [-> { kafka("bootstrap.servers": "other:1") }, {kafka: {"bootstrap.servers": "other:1"}}],
      "long_running_job" => [-> { long_running_job(true) }, {long_running_job: true}],
      "non_blocking_job" => [-> { non_blocking_job(true) }, {long_running_job: true}]
    }.freeze

    SAME.each do |name, (options, values)|
      test "#{name} means what it means in Karafka" do
        drawn = routes { topic(:a) { [consumer(C), instance_exec(&options)] } }
        bare = routes { topic(:a) { consumer C } }.find("a").to_h

        assert_empty drawn.problems
        assert_equal values, drawn.find("a").to_h.reject { |key, value| bare[key] == value }
      end
    end

    test "virtual_partitions, filters, deserializers, a dead letter queue and periodic keep what they are given" do
      mine = ->(*) { Filter.new }
      found = routes do
        topic(:a) do
          consumer Ticking
          virtual_partitions(partitioner: SELF, max_partitions: 5, offset_metadata_strategy: :exact)
          filter mine
          deserializers(payload: SELF, key: mine)
          periodic(interval: 7_000, during_pause: true, during_retry: false)
          offset_metadata(cache: true, deserializer: SELF)
          dead_letter_queue(topic: :dead, max_retries: 2, dispatch_method: :produce_sync, marking_method: :mark_as_consumed!)
        end
      end
      features = found.find("a").features
      letters = features[:dead_letter_queue]

      assert_empty found.problems
      assert_equal [SELF, 5, :exact], features[:parallel].to_h.values_at(:by, :max_partitions, :offset_metadata_strategy)
      assert_equal [mine], features[:filter].map(&:factory)
      assert_equal [SELF, mine], features[:deserializers].then { |one| [one.payload.deserializer, one.key.deserializer] }
      assert_equal [7_000, "dead", 2], [features[:periodic_job].interval, letters.topic, letters.max_retries]
    end

    # Options, and the text of the problem.
    REFUSED = {
      "virtual_partitions without a partitioner" => [-> { virtual_partitions(max_partitions: 5) },
        /without which Karafka runs a partition's records in order. Remove it, or give it a partitioner/],
      "virtual partitions with a reducer of their own" =>
        [-> { virtual_partitions(partitioner: SELF, reducer: SELF) }, /reducer needs distribution: :consistent.*Remove reducer/],
      "throttle without an interval" => [-> { throttle(limit: 5) }, /throttle interval: is missing/],
      "delaying" => [-> { delaying(5) }, /Use delay_by/], "expiring" => [-> { expiring(5) }, /Use expire_in/],
      "filtering" => [-> { filtering }, /Use filter/], "retrying" => [-> { retrying }, /Use pause, or backoff_for/],
      "direct_assignments" => [-> { direct_assignments }, /Use assign/],
      "declaratives" => [-> { declaratives(partitions: 3) }, /Write config\(partitions:/],
      "multiplexing in a topic" => [-> { multiplexing(max: 2) }, /belongs inside of a subscription_group's block/],
      "parallel_segments in a topic" => [-> { parallel_segments(count: 2) }, /belongs inside of a consumer_group's block/],
      "periodic without a tick" => [-> { periodic true }, /Define `tick` in the consumer/],
      "a strategy of dead letters that isn't given" =>
        [-> { dead_letter_queue(topic: :strategy) }, /Give an object with `call\(errors_tracker, attempt\)`/],
      "eofed without the ends" => [-> { [eofed, kafka({"enable.partition.eof": false}, inherit: true)] },
        /Remove enable.partition.eof/]
    }.freeze

    REFUSED.each do |name, (options, told)|
      test "#{name} is refused at boot, with what to do" do
        assert_match told, problems { topic(:a) { [consumer(C), instance_exec(&options)] } }.join("\n")
      end
    end

    # Drawings, and the text of the problem.
    EMPTY = {
      "an empty subscription group" => [-> { [topic(:a) { consumer C }, subscription_group(:empty) {}] },
        /subscription_group empty: has no topic. Add one or remove the group/],
      "an empty subscription group of a consumer group" =>
        [-> { consumer_group(:g) { [topic(:a) { consumer C }, subscription_group("one") {}] } },
          /subscription_group one, consumer_group g: has no topic/],
      "a subscription group without a name and topics" =>
        [-> { [topic(:a) { consumer C }, subscription_group {}] }, /subscription_group subscription1: has no topic/],
      "a consumer group without topics" => [-> { consumer_group(:g) {} }, /consumer_group g.*: has no topic/],
      "a share group" => [-> { share_group(:g) { topic(:a) } }, /use consumer_group, and `parallel by: :message`/],
      "recurring tasks" => [-> { recurring_tasks(true) }, /no recurring tasks: leave them where they are/]
    }.freeze

    EMPTY.each do |name, (drawing, told)|
      test "#{name} is refused at boot" do
        assert_match told, problems(&drawing).join("\n")
      end
    end

    test "a subscription group that is drawn in two parts is a group with the topics of both" do
      builder = Routing::Builder.new
      builder.draw { subscription_group(:g) { topic(:a) { consumer C } } }
      builder.draw { subscription_group("g") { topic(:b) { consumer C } } }
      drawn = builder.routes(settings)

      assert_empty drawn.problems
      assert_equal [%w[g], [%w[a b]]], [drawn.subscription_groups.map(&:name), drawn.subscription_groups.map(&:subscription)]
    end

    test "names may be Symbols or Strings, and ids are those that Karafka gives" do
      drawn = routes { consumer_group(:shop) { subscription_group("own") { topic(:orders) { consumer C } } } }
      found = drawn.find("orders")

      assert_equal ["orders", "shop_orders", "shop_own_0", "shop", true],
        [found.name, found.id, found.subscription_group.id, found.consumer_group.id, found.group.equal?(found.consumer_group)]
      assert_same found, drawn.find(:orders)
    end

    test "a pause of a topic that isn't complete falls back to the settings, not to `defaults`" do
      with = settings { |config| config.pause.timeout = 5 }
      found = routes(with) do
        defaults { pause(timeout: 50, max_timeout: 60) }
        topic(:a) { [consumer(C), pause(max_timeout: 70)] }
        topic(:b) { consumer C }
      end

      assert_equal [[5, 70], [50, 60]], %w[a b].map { |name| found.find(name).pause.to_a.first(2) }
    end

    test "readers of a routed topic with another name here raise with that name" do
      found = routes { topic(:a) { [consumer(C), dead_letter_queue(topic: :dead)] } }.find("a")
      named = {dead_letter_queue: "topic.features[:dead_letter_queue]", dead_letter_queue?: "topic.features[:dead_letter_queue]",
               virtual_partitions?: "topic.features[:parallel]", periodic_job: "topic.features[:periodic_job]",
               declaratives: "topic.declaration", manual_offset_management: "topic.manual_offset_management?"}
      named.each do |name, instead|
        error = assert_raises(NoMethodError) { found.public_send(name) }
        assert_includes error.message, "a routed topic (a) has no #{name}: use #{instead}."
        instance_exec(found) { |topic| topic.instance_eval(instead.delete_prefix("topic.")) }
      end
    end

    test "every hint about a routed topic names a reader that exists" do
      found = routes { topic(:a) { consumer C } }.find("a")
      Compat::Karafka::Topic::OPTIONS.each_value { |verb| assert found.features.key?(verb), verb }
      Compat::Karafka::Topic::OTHERS.each_value do |names|
        names.split(" and ").each do |name|
          name.split(".").reduce(found) { |object, reader| object.public_send(reader) }
        end
      end
    end
  end
end
