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

    test "delay_by, expire_in, throttle and time_limit are milliseconds" do
      said = features { [delay_by(5), expire_in(10), throttle(limit: 3, interval: 60), time_limit(500)] }
      assert_equal [5, 10, 3, 60, 500], [said[:delay_by], said[:expire_in], *said[:throttle].to_a, said[:time_limit]]
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
      assert_equal [2, 1_000], features { batch min: 2 }[:batch].to_a
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
      assert_equal [5_000, true, false], features(consumer: Ticking) { periodic true }[:periodic_job].to_a
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
