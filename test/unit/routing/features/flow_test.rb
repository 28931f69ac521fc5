# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/consumer/base_consumer"

module Penstock
  # The verbs that decide which records are admitted, and when: delay, filters, parallelism and the rest.
  class FlowFeaturesTest < TestCase
    include RoutesSupport

    C = Class.new(BaseConsumer) { def consume = nil }
    Ticking = Class.new(BaseConsumer) { def tick = nil }
    Silent = Class.new(BaseConsumer) { def consume = nil }

    def features(with = settings, consumer: C, &block) = drawn(with, consumer, &block).find(:a).features

    def drawn(with, consumer, &block)
      routes(with) do
        topic(:a) do
          consumer consumer
          instance_exec(&block)
        end
      end
    end

    def assert_wrong(pattern, ...) = assert_match(pattern, wrong(...).join)

    def wrong(with = settings, consumer: C, &block)
      drawn(with, consumer, &block).problems.map { |problem|
        plain(problem.to_s).delete_prefix("routes: topic a, consumer_group app: ")
      }
    end

    test "every feature is off by default" do
      said = features { nil }
      assert_equal [nil] * 7, said.values_at(:delay_by, :expire_in, :throttle, :parallel, :batch, :window, :time_limit)
      assert_equal [nil, nil, nil, false, []], said.values_at(:periodic_job, :inline_insights, :adaptive_iterator,
        :interruptible, :filter)
      assert_equal "x", said[:offset_metadata].read("x")
    end

    test "offset metadata is read as it is unless the route has a deserializer, in every form of the option" do
      forms = [-> { offset_metadata }, -> { offset_metadata cache: true }, -> { offset_metadata cache: false },
        -> { offset_metadata deserializer: :upcase.to_proc }, -> { offset_metadata cache: false, deserializer: :upcase.to_proc }]
      found = forms.map { |form| features(&form)[:offset_metadata].read("x") }

      assert_equal %w[x x x X X], found
      assert_nil features { offset_metadata cache: true }[:offset_metadata].read(nil)
    end

    test "no option of a route has the application's settings as its default" do
      defaults = Routing::Features.core.flat_map do |feature|
        feature.options.map { |name, option| ["#{feature.verb} #{name}:", option.default_for(settings)] }
      end

      assert_empty(defaults.filter_map { |name, default| name if default.is_a?(Config::Settings) })
    end

    test "delay_by, expire_in, throttle and time_limit are milliseconds" do
      said = features { [delay_by(5), expire_in(10), throttle(limit: 3, interval: 60), time_limit(500)] }
      assert_equal [5, 10, 3, 60, 500],
        [said[:delay_by].delay_ms, said[:expire_in].ttl_ms, *said[:throttle].to_a.first(2), said[:time_limit]]
    end

    test "the option that was probably meant is the only one that could have the value" do
      assert_wrong(/without a name, not 2\. Write retry_topics delays: \[1000, 2000\]/) { retry_topics 1000, 2000 }
      assert_wrong(/takes no argument without a name, not 1\. Available: limit, interval, per/) { throttle 5 }
    end

    test "throttle per: :key needs keys in parallel, and no slots" do
      said = features { [throttle(limit: 3, interval: 60, per: :key), parallel] }
      assert_predicate said[:throttle], :per_key?
      refute_predicate features { throttle limit: 3, interval: 60 }[:throttle], :per_key?
      assert_wrong(/per: :key needs parallel by: :key.*Add parallel by: :key/) { throttle limit: 3, interval: 60, per: :key }
      assert_wrong(/per: :key needs parallel/) { [throttle(limit: 3, interval: 60, per: :key), parallel(:message)] }
      assert_wrong(/can't be used with distribution: :consistent/) do
        [throttle(limit: 3, interval: 60, per: :key), parallel(distribution: :consistent)]
      end
      assert_wrong(/throttle per: must be "partition" or "key"/) { throttle limit: 3, interval: 60, per: :topic }
    end

    test "expire_in and delay_by take the name of a header, and expire_in a topic" do
      said = features { [delay_by(header: "delay", max: 9_000), expire_in(header: :ttl, topic: "old")] }
      assert_equal [[nil, "delay", 9_000], [nil, "ttl", "old"]], said.values_at(:delay_by, :expire_in).map(&:to_a)
    end

    test "expire_in and delay_by without a time, with a part of what belongs together, or with a bad name are refused" do
      assert_wrong(/neither an age nor header:. Write expire_in 3_600_000, or/) { expire_in topic: "old" }
      assert_wrong(/neither a delay nor header:/) { delay_by }
      assert_wrong(/has no max:.*for ever. Give the longest delay in ms: delay_by header: "d", max: 600_000/) {
        delay_by header: "d"
      }
      assert_wrong(/max: is the limit of header:, which is missing/) { delay_by 5, max: 6 }
      assert_wrong(/delay_by \(7\) is above its max: \(6\)/) { delay_by 7, header: "d", max: 6 }
      assert_wrong(/header: must be the name of a header.*is ""/) { expire_in header: "" }
      assert_wrong(/header: must be the name of a header/) { expire_in header: "häder" }
      assert_wrong(/expire_in topic: must be a name of/) { expire_in 5, topic: "a b" }
    end

    test "expired records can't go to a topic that the route itself consumes" do
      assert_wrong(/\Aexpire_in topic: a is a topic that this route consumes/) { expire_in 5, topic: "a" }
      assert_wrong(/topic: a.retry.1 is a topic that/) {
        [expire_in(5, topic: "a.retry.1"), retry_topics(delays: [9], finally: "d")]
      }
      pattern = routes(settings) { pattern(/a.*/) { [consumer(C), expire_in(5, topic: "ab")] } }
      assert_match(/its pattern also matches ab, the topic of its expired messages/, pattern.problems.join)
    end

    test "a delay that isn't below the time to live is refused" do
      assert_wrong(/\Adelay_by \(10\) isn't below expire_in \(10\)/) { [delay_by(10), expire_in(10)] }
    end

    test "filters are blocks or factories, in the order in which they are written" do
      factory = ->(_topic, _partition) {}
      said = features { [filter { |message| message }, filter(factory)] }
      assert_equal [[nil, Proc], [factory, NilClass]], said[:filter].map { |one| [one.factory, one.keep.class] }
    end

    test "a filter with neither, with both, or with a factory of the wrong arity is refused with a hint" do
      assert_wrong(/neither a factory nor a block.*Write filter \{ \|message\|/) { filter }
      assert_wrong(/has a factory and a block/) { filter(->(_t, _p) {}) { true } }
      assert_wrong(/but takes one argument.*write filter \{/) { filter(->(_message) { true }) }
      assert_empty(wrong { filter(proc { C.new }) })
      assert_wrong(/filter must be an object with the method call/) { filter(3) }
    end

    test "parallel is by key, by message, or by a callable's result" do
      partitioner = ->(message) { message }
      assert_equal [:key, 5, false], features { parallel }[:parallel].then { |one| [one.by, one.max_partitions, one.consistent?] }
      assert_predicate features { parallel by: :message }[:parallel], :message?
      said = features { virtual_partitions(partitioner: partitioner, max_partitions: 9, distribution: :consistent) }[:parallel]
      assert_equal [partitioner, 9, true], [said.partitioner, said.max_partitions, said.consistent?]
      assert_equal :block, features { parallel { :block } }[:parallel].partitioner.call
      assert_equal [true, false, false], [features { virtual_partitions { :block } }, features { parallel { :block } },
        features { virtual_partitions by: :key }].map { |one| one[:parallel].text_keys }
      said = features { parallel(:key, offset_metadata_strategy: :exact, distribution: "balanced") }[:parallel]
      assert_equal [:exact, false], [said.offset_metadata_strategy, said.consistent?]
    end

    test "all contradictions in parallel are reported at once" do
      found = wrong { parallel by: :message, distribution: :consistent }
      assert_match(/by: :message there are no keys. Remove distribution/, found.join)
      assert_wrong(/reducer needs distribution: :consistent/) { parallel reducer: ->(key) { key } }
      assert_wrong(/parallel must be "key" or "message", or an object with the method call, is :keys/) { parallel :keys }
    end

    test "a batch that waits for more than consume or a throttle allows is refused" do
      assert_equal [2, 1_000, nil], features { batch min: 2 }[:batch].to_a
      assert_equal [nil, 1_000, 4_096], features { batch bytes: 4_096 }[:batch].to_a
      assert_wrong(/batch has neither min: nor bytes:. Write batch min: 500/) { batch within: 5 }
      assert_wrong(/batch bytes: must be an Integer from 1 to 67108864/) { batch bytes: 0 }
      assert_empty(wrong { [batch(bytes: 100), throttle(limit: 2, interval: 1), window(records: 300)] })
      assert_wrong(/waits for 500 messages, but one call of consume gets at most 100. Raise max_messages/) { batch min: 500 }
      assert_wrong(/isn't below config.shutdown_timeout/) { batch min: 5, within: 60_000 }
      assert_wrong(/throttle admits 2 messages, but batch waits for 5/) { [batch(min: 5), throttle(limit: 2, interval: 1)] }
    end

    test "a window needs room for two batches" do
      assert_equal [200, nil], features { window records: 200 }[:window].to_a
      assert_wrong(/below twice max_messages \(100\).*at least 200/) { window records: 199 }
      found = wrong { [max_messages(90), batch(min: 80), window(records: 70, bytes: 1_024)] }
      assert_equal 2, found.size
    end

    test "periodic jobs need a tick method, and during_retry needs during_pause" do
      assert_equal [5_000, true, false, false], features(consumer: Ticking) { periodic true }[:periodic_job].to_a
      assert_nil features(consumer: Ticking) { periodic_job false }[:periodic_job]
      assert_wrong(/calls tick, which the consumer doesn't have. Define/, consumer: Silent) { periodic }
      assert_wrong(/calls tick/) { periodic }
      assert_wrong(/during_retry: needs during_pause/, consumer: Ticking) { periodic during_retry: true, during_pause: false }
    end

    test "insights need statistics" do
      refute_predicate features { inline_insights true }[:inline_insights], :required?
      assert_predicate features { inline_insights required: true }[:inline_insights], :required?
      off = settings(kafka: RoutesSupport::KAFKA.merge("statistics.interval.ms": 0))
      assert_wrong(/needs statistics, which kafka switches off/, off) { inline_insights }
    end

    test "offset metadata is read by the route's deserializer, and nil stays nil" do
      read = features { offset_metadata deserializer: ->(string) { string.to_i } }[:offset_metadata]
      assert_equal [3, nil], [read.read("3"), read.read(nil)]
    end

    test "the adaptive iterator and parallel contradict each other" do
      said = features { adaptive_iterator(active: true, marking_method: :mark_as_consumed!) }[:adaptive_iterator]
      assert_equal [:mark_as_consumed!, true], said.to_a
      assert_wrong(/adaptive_iterator doesn't go with parallel/) { [adaptive_iterator, parallel] }
    end

    test "a block for a verb without one is reported" do
      assert_wrong(/delay_by takes no block/) { delay_by(5) { 1 } }
    end
  end
end
