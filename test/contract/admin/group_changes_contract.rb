# frozen_string_literal: true

require "penstock/admin"
require "support/consuming"
require "support/native_member"
require "support/rules"

module Penstock
  # Groups whose offsets are changed while they don't run, with any broker.
  module GroupChangesContract
    extend TestSupport::Rules

    BY_KEY = ->(_route) { parallel by: :key }

    rule "[seek/copy/rename/delete group] a group with work completed out of order, copied: the copy runs nothing twice" do
      topic, done = half_done(60, 6)
      copy = unique("copy")

      assert admin { |admin| admin.copy_consumer_group(group, copy) }
      assert_equal rows_of(group), rows_of(copy)
      assert_equal [2, 48], [committed(topic), lag_of(copy, topic)[:lag] - lag_of(copy, topic)[:incomplete]]
      @group = copy
      again = queue
      consuming(topic, BY_KEY, concurrency: 3) { messages.each { |message| again << message.offset } }
      assert_equal (0...60).to_a, (done + take(again, 10)).sort
      observe_for(0.3) { assert_empty again }
    end

    rule "[seek/copy/rename/delete group] a group without commits has nothing to copy; one isn't copied to itself" do
      topic = topic_with(1)

      refute admin { |admin| admin.copy_consumer_group(unique("nobody"), group, [topic]) }
      assert_equal "group #{group}: would be copied to itself",
        assert_raises(InvalidRequestError) { admin { |admin| admin.copy_consumer_group(group, group) } }.message
    end

    rule "[seek/copy/rename/delete group] only the topics that are named are copied; offsets of the target are replaced" do
      one, other = topic_with(9), topic_with(9)
      copy = unique("copy")
      admin do |admin|
        admin.write_committed_offsets(group, [row(one, 4, "left"), row(other, 5)])
        admin.write_committed_offsets(copy, [row(one, 1), row(other, 2)])
        admin.copy_consumer_group(group, copy, [one])
      end

      assert_equal [[4, "left"], [2, nil]], [one, other].map { |topic| committed_of(copy, topic) }
    end

    rule "[seek/copy/rename/delete group] a group is set to offsets, to the first or to the end, for a topic or for partitions" do
      topic = topic_with(9, partitions: 2)
      reached = ->(targets) { admin { |admin| admin.seek_consumer_group(group, {topic => targets}) || offsets(admin, topic) } }

      assert_equal [3, 0], reached.call({0 => 3, 1 => :latest})
      assert_equal [9, 0], reached.call(:latest)
      assert_equal [0, 0], reached.call("earliest")
      assert_equal [5, 0], reached.call({0 => 5})
    end

    rule "[seek/copy/rename/delete group] after a seek what was completed out of order runs again, too" do
      topic, = half_done(12, 6)
      admin { |admin| admin.seek_consumer_group(group, {topic => {0 => 4}}) }
      again = queue
      consuming(topic, BY_KEY, concurrency: 1) { messages.each { |message| again << message.offset } }

      assert_equal (4...12).to_a, take(again, 8).sort
    end

    rule "[Alter bad op] all that is wrong with a seek is named, and no offset is changed" do
      topic = topic_with(3)
      admin do |admin|
        error = assert_raises(InvalidRequestError) do
          admin.seek_consumer_group(group, {topic => {0 => -1, "a" => 1}, "other" => :first, "third" => {}})
        end
        ways = ". Give an offset (an Integer of at least 0), a Time, :earliest or :latest"
        assert_equal ["#{topic}/0: -1 is no offset#{ways}", "#{topic}: \"a\" is no partition",
          "other: :first is no offset#{ways}", "third: names no partition#{ways}"], error.problems.map(&:to_s)
        beyond = assert_raises(InvalidRequestError) { admin.seek_consumer_group(group, {topic => {0 => 4}}) }
        assert_equal "#{topic}/0: has no offset 4: its log is from 0 to 3", beyond.message
        missing = assert_raises(KafkaError) { admin.seek_consumer_group(group, {unique("missing") => :latest}) }
        assert_equal :unknown_topic_or_part, missing.code
        assert_equal [nil], offsets(admin, topic)
      end
    end

    rule "[trigger_rebalance] the members of a group see two rebalances, and keep what they committed" do
      topic, revoked = topic_with(9, partitions: 4), queue
      joined = queue
      running = consuming(topic, config: ->(config) { config.kafka = config.kafka.merge("heartbeat.interval.ms": 100) }) { nil }
      running.application.monitor.subscribe("rebalance.partitions_assigned") { joined << true }
      running.application.monitor.subscribe("rebalance.partitions_revoked") { revoked << true }
      wait_until(20, "the first commit") { committed(topic) == 9 }
      settings = Config::KafkaMap.consumer(running.application.config, running.application.routes.subscription_group_of(group))
      [{}, settings].each do |given| # as on an object, and as on the class
        before = [joined, revoked].map(&:size)
        admin { |admin| admin.trigger_rebalance(group, [topic, unique("missing")], settings: given) }

        wait_until(30, "a revocation and an assignment", state: -> { [joined, revoked].map(&:size) }) do
          revoked.size > before[1] && joined.size > before[0]
        end
      end
      assert_equal 9, committed(topic)
      produce(topic, ["10"])
      wait_until(20, "the next commit") { committed(topic) == 10 }
    end

    rule "[trigger_rebalance] topics of which none exists are refused at once" do
      error = assert_raises(KafkaError) { admin { |admin| admin.trigger_rebalance(group, %w[missing-a missing-b]) } }

      assert_equal :unknown_topic_or_part, error.code
      assert_includes error.message, "missing-a, missing-b: no such topic: name one that the group's members consume"
    end

    rule "[Group admin] the lags of many groups are read together; one that can't be read has its error" do
      topic = topic_with(9)
      groups = Array.new(20) { unique("lagging") }
      admin do |admin|
        groups.each_with_index { |name, index| admin.write_committed_offsets(name, [row(topic, index % 9)]) }
        found = admin.group_lags(groups.to_h { |name| [name, [topic]] })

        assert_equal groups, found.keys
        assert_equal groups.each_index.map { |index| 9 - (index % 9) }, found.values.map { |(first)| first[:lag] }
      end
    end

    private

    # A group whose consumer failed on one of its keys: offset 2 is committed, the other keys are done to the end.
    # @return [(String, Array<Integer>)] the topic, and which offsets ran
    def half_done(count, keys)
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      produce_keyed(topic, Array.new(count) { |index| ["k#{index % keys}", index.to_s] })
      first = consuming(topic, BY_KEY, concurrency: 3, shutdown_timeout: 6_000) do
        raise "not now" if messages.first.raw_key == "k2"
        messages.each { |message| seen << message.offset }
      end
      done = take(seen, count - (count / keys))
      assert_equal 0, first.stop
      [topic, done]
    end

    def admin(&block) = Admin.open({"bootstrap.servers": kafka.fetch(:"bootstrap.servers")}, timeout_ms: 20_000, &block)
    def row(topic, offset, metadata = nil) = {topic: topic, partition: 0, offset: offset, metadata: metadata}
    def rows_of(name) = admin { |admin| admin.read_committed_offsets(name) }
    def lag_of(name, topic) = admin { |admin| admin.group_lag(name, [topic]) }.first

    def committed_of(name, topic)
      admin { |admin| admin.read_committed_offsets(name, {topic => [0]}) }.first.values_at(:offset, :metadata)
    end

    def offsets(admin, topic)
      partitions = (0...admin.topics.fetch(topic)).to_a
      admin.read_committed_offsets(group, {topic => partitions}).map { |one| one[:offset] }
    end
  end
end
