# frozen_string_literal: true

require "penstock"
require "penstock/native/producer"
require "support/real_broker"
require "support/rules"
require "timeout"

module Penstock
  # Behaviour of Penstock::Iterator with any broker. Including classes define `bootstrap_servers`.
  module IteratorContract
    include TestSupport::RealBroker
    extend TestSupport::Rules

    rule "[iterator modes] all partitions, the last N of each, and offsets of single ones" do
      name = topic(2)
      produce(name, 7, partition: 0)
      produce(name, 3, partition: 1)

      assert_equal({0 => (0...7).to_a, 1 => [0, 1, 2]}, offsets(name))
      assert_equal({0 => [5, 6], 1 => [1, 2]}, offsets({name => -2}))
      assert_equal({0 => [6], 1 => [0, 1, 2]}, offsets({name => {0 => 6, 1 => -100}}))
      assert_equal({0 => [2, 3]}, offsets({name => {0 => 2...4, 1 => :latest}}))
    end

    rule "[iterator modes] many topics and partitions at once: 50 partitions, each complete and in order" do
      names = [topic(25), topic(25)]
      names.each { |name| 25.times { |partition| produce(name, 20 + partition, partition: partition) } }
      found = Hash.new { |known, key| known[key] = [] }
      iterator(names).each { |message| found[[message.topic, message.partition]] << message.offset }

      assert_equal 50, found.size
      found.each { |(_topic, partition), offsets| assert_equal (0...(20 + partition)).to_a, offsets }
    end

    rule "[iterator modes] an empty partition, an offset and a time after the end yield nothing" do
      name = topic(1)
      assert_empty offsets(name)
      produce(name, 3)

      assert_empty offsets({name => 3})
      assert_empty offsets({name => 300})
      assert_empty offsets({name => Time.now + 3_600})
      assert_empty offsets({name => :latest})
    end

    rule "[iterator modes] it ends with the records that exist at its beginning, while others are produced" do
      name = topic(1)
      produce(name, 5)
      seen = iterator(name).map do |message|
        produce(name, 3) if message.offset.zero?
        message.offset
      end

      assert_equal (0...5).to_a, seen
    end

    rule "[iterator EOF/tail] what follows receives records that are produced later, and nil while there are none" do
      name = topic(1)
      seen = []
      iterator({name => :latest}, follow: true, yield_nil: true, max_wait_time: 50).each do |message, iterator|
        seen << message&.offset
        produce(name, 2) if seen == [nil]
        iterator.stop if message&.offset == 1
      end

      assert_equal [0, 1], seen.compact
      assert_nil seen.first
    end

    rule "[iterator reuse] break closes the connection, and the next iteration is complete" do
      name = topic(2)
      2.times { |partition| produce(name, 5, partition: partition) }
      one = iterator(name)
      before = Native.handle_count
      3.times do
        one.each { break }
        assert_equal before, Native.handle_count
      end

      assert_equal 10, one.count
    end

    rule "[iterator modes] marks move the offset of the group of `settings`, which joins no member; without a mark it has none" do
      name, group = topic(1), unique("group")
      produce(name, 6)
      one = iterator({name => true}, settings: {"group.id": group})
      assert_equal 6, one.count
      assert_nil committed(group, name)

      one.each { |message, iterator| iterator.mark_as_consumed(message) && break if message.offset == 3 }
      assert_equal [4, [4, 5]], [committed(group, name), one.map(&:offset)]
      one.each { |message, iterator|
        iterator.mark_as_consumed!(message) && assert_equal(message.offset + 1, committed(group, name))
      }
      assert_empty one.to_a
    end

    rule "a missing topic is an error that names it, and isn't created; all missing ones are named" do
      missing, other = unique("missing"), unique("other")
      error = assert_raises(KafkaError) { iterator([missing, topic(1), other]).to_a }

      assert_equal :unknown_topic_or_part, error.code
      [missing, other].each { |name| assert_includes error.message, name }
      refute_includes Admin.open(kafka, &:topics), missing
    end

    rule "a missing partition is an error with those that exist" do
      name = topic(2)
      error = assert_raises(KafkaError) { iterator({name => {5 => 0}}).to_a }

      assert_equal :unknown_partition, error.code
      assert_includes error.message, "#{name} has partitions 0 to 1"
    end

    rule "Timeout and Thread#kill end an iteration that waits, and nothing stays open" do
      name = topic(1)
      before = Native.handle_count
      endless = -> { iterator(name, follow: true).each { flunk } }
      assert_raises(Timeout::Error) { Timeout.timeout(1) { endless.call } }
      thread = Thread.new { endless.call }
      wait_until(10, "a connection") { Native.handle_count > before }
      thread.kill.join

      wait_until(10, "its end") { Native.handle_count == before }
    end

    rule "stop from another thread ends an iteration that waits" do
      one = iterator(topic(1), follow: true)
      before = Native.handle_count
      thread = Thread.new { one.each { flunk } }
      wait_until(10, "a connection") { Native.handle_count > before }
      wait_until(10, "the end") do
        one.stop
        thread.join(0)
      end

      assert_equal before, Native.handle_count
    end

    rule "a large partition is read completely, in order" do
      name = topic(1)
      produce(name, 20_000)
      last = -1
      iterator(name).each do |message|
        assert_equal last + 1, message.offset unless message.offset == last + 1
        last = message.offset
      end

      assert_equal 19_999, last
      assert_equal (19_000..19_999).to_a, offsets({name => -1_000})[0]
    end

    rule "an unreachable cluster is an error with its reason, within the time limit" do
      error = assert_raises(KafkaError) {
        Iterator.new("t", settings: {"bootstrap.servers": "127.0.0.1:1"}, timeout_ms: 1_000).to_a
      }

      assert_match(/no answer about the topics of the cluster: .*127\.0\.0\.1:1.*refused/, error.message)
      assert_includes %i[transport all_brokers_down], error.code
    end

    rule "[read_topic] the last records of a partition, and those from an offset on; after the end there is none" do
      name = topic(2)
      produce(name, 9, partition: 1)
      read = ->(*more) { Admin.open(kafka) { |admin| admin.read_topic(name, 1, *more) }.map(&:offset) }

      assert_equal [[6, 7, 8], (0..8).to_a, [2, 3], [], []],
        [read.call(3), read.call(99), read.call(2, 2), read.call(2, 9), read.call(2, 900)]
      assert_equal [], Admin.open(kafka) { |admin| admin.read_topic(name, 0, 5) }
      missing = unique("missing")
      error = assert_raises(KafkaError) { Admin.open(kafka) { |admin| admin.read_topic(missing, 0, 5) } }
      assert_equal [:unknown_topic_or_part, true], [error.code, error.message.include?(missing)]
    end

    private

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def iterator(topics, settings: {}, **options) = Iterator.new(topics, settings: {**kafka, **settings}, **options)

    # @return [Hash{Integer => Array<Integer>}] by partition
    def offsets(topics, **options)
      iterator(topics, **options).group_by(&:partition).transform_values { |messages| messages.map(&:offset) }
    end

    # A topic for this test, deleted after it.
    def topic(partitions, config: {})
      unique("it").tap do |name|
        Admin.open(kafka) { |admin| admin.create_topic(name, partitions: partitions, replication_factor: 1, config: config) }
        (@topics ||= []) << name
      end
    end

    def teardown
      Admin.open(kafka) { |admin| @topics.each { |name| admin.delete_topic(name) } } if @topics
      super
    end

    def produce(topic, count, partition: 0, key: nil, from_ms: nil)
      producer = Native::Producer.new({"bootstrap.servers" => bootstrap_servers})
      count.times do |index|
        time = from_ms ? {timestamp_ms: from_ms + index} : {}
        producer.produce(topic, index.to_s, key&.call(index), partition: partition, handle: false, **time)
      end
      producer.flush(20_000) or raise "not delivered"
    ensure
      producer&.close(5_000)
    end

    def committed(group, topic)
      Admin.open(kafka) { |admin| admin.read_committed_offsets(group, {topic => [0]}).first[:offset] }
    end
  end
end
