# frozen_string_literal: true

require "test_helper"
require "logger"
require "penstock/native/group_metadata"
require_relative "iterator_contract"

module Penstock
  class IteratorOnRealBrokerTest < TestCase
    include IteratorContract

    IteratorContract.add_to(self)

    # Cleaned as soon as the broker looks for something to clean.
    COMPACTED = {"cleanup.policy" => "compact", "segment.ms" => 1, "min.cleanable.dirty.ratio" => 0.001,
                 "delete.retention.ms" => 0, "min.compaction.lag.ms" => 0}.freeze

    test "[iterator modes] markers of transactions and aborted records are no messages, neither in a range nor in the last N" do
      name = topic(1)
      with_transactions do |producer|
        4.times { |index| producer.transaction { |transaction| transaction.produce_sync(topic: name, payload: index.to_s) } }
        producer.transaction do |transaction|
          transaction.produce_sync(topic: name, payload: "aborted")
          raise AbortTransaction
        end
      end

      assert_equal [0, 2, 4, 6], offsets(name)[0]
      assert_equal [4, 6], offsets({name => -2})[0]
      assert_equal [2, 4], offsets({name => {0 => 1...6}})[0]
      assert_equal [0, 2, 4, 6, 8], iterator(name, settings: {"isolation.level": "read_uncommitted"}).map(&:offset)
    end

    test "[iterator modes] while a transaction is open it ends before its first record; read_uncommitted reads it" do
      name = topic(1)
      produce(name, 2)
      with_transactions do |producer|
        producer.transaction do |transaction|
          transaction.produce_sync(topic: name, payload: "open")
          produce(name, 1)

          assert_equal [[0, 1], [1]], [offsets(name)[0], offsets({name => -1})[0]]
          assert_equal [0, 1, 2, 3], offsets(name, settings: {"isolation.level": "read_uncommitted"})[0]
        end
      end
      assert_equal [0, 1, 2, 3], offsets(name)[0]
    end

    test "[iterator modes] over a compacted topic the last N are the last N that exist" do
      name = topic(1, config: COMPACTED)
      produce(name, 400, key: ->(index) { (index < 10) ? "old#{index}" : "key#{index % 3}" })
      kept = wait_until(60, "compaction", state: -> { offsets(name) }) do
        produce(name, 1, key: ->(_) { "next" }) # begins a new segment, so that the one before it is cleaned
        offsets(name)[0].then { |found| found if found.size < 20 }
      end

      assert_equal (0..9).to_a, kept.first(10), "the first records have keys of their own"
      all, last = wait_until(30, "no compaction while both are read") do
        found = [offsets(name)[0], offsets({name => -12})[0]]
        found if offsets(name)[0] == found[0]
      end
      assert_equal all.last(12), last
    end

    # The embedded broker has no index of times.
    test "[iterator modes] a time begins at the first record that isn't older, and `until` ends before it" do
      name = topic(1)
      start = ((Time.now.to_i - 3_600) * 1_000)
      produce(name, 10, from_ms: start)
      at = ->(index) { Time.at(0, start + index, :millisecond) }

      assert_equal (4..9).to_a, offsets({name => at.call(4)})[0]
      assert_equal [0, 1, 2], offsets(name, until: at.call(3))[0]
      assert_equal [4, 5], offsets({name => at.call(4)...at.call(6)})[0]
      assert_equal [4, 5, 6], offsets({name => at.call(4)..at.call(6)})[0]
      assert_equal [1, 2], offsets({name => -2}, until: at.call(3))[0]
    end

    test "a group with members refuses marks, with what to do" do
      name, group = topic(1), unique("occupied")
      produce(name, 1)
      member = Native::Consumer.new({"bootstrap.servers" => bootstrap_servers, "group.id" => group})
      member.subscribe([name])
      wait_until(30, "a member") do
        member.wait(50)
        while (event = member.poll_event)
          member.answer if %i[assign revoke].include?(event.first)
        end
        !member.member_id.to_s.empty? && !member.assignment.empty?
      end
      error = assert_raises(KafkaError) do
        iterator(name, settings: {"group.id": group}).each { |message, iterator| iterator.mark_as_consumed!(message) }
      end

      assert_match(/the group #{group} has members/, error.message)
    ensure
      member&.close(2_000)
    end

    test "[read_topic] markers and aborted records don't count; a time after the end yields nothing" do
      name = topic(1)
      with_transactions do |producer|
        3.times { |index| producer.transaction { |transaction| transaction.produce_sync(topic: name, payload: index.to_s) } }
      end
      read = ->(*more) { Admin.open(kafka) { |admin| admin.read_topic(name, 0, *more) }.map(&:offset) }

      assert_equal [[2, 4], [2, 4], [], [0]],
        [read.call(2), read.call(2, 1), read.call(2, Time.now + 3_600), read.call(1, Time.now - 3_600)]
    end

    test "[read_partition_offsets] the last stable offset and the high watermark differ while a transaction is open" do
      name = topic(1)
      produce(name, 2)
      ends = -> do
        Admin.open(kafka) do |admin|
          %i[read_committed read_uncommitted].map do |level|
            admin.read_partition_offsets({name => [{partition: 0, offset: :latest}]}, isolation_level: level).first[:offset]
          end
        end
      end
      with_transactions do |producer|
        producer.transaction do |transaction|
          transaction.produce_sync(topic: name, payload: "open")
          assert_equal [2, 3], ends.call
        end
      end
      assert_equal [4, 4], wait_until(10, "the marker") { ends.call.then { |found| found if found.uniq.one? } }
    end

    test "[recovery] what a group has committed is read from the brokers' own records, as its coordinator reports it" do
      name, group = topic(2), unique("recovered")
      2.times { |partition| produce(name, 5, partition: partition) }
      recovery = Admin::Recovery.new(kafka: kafka)
      assert_equal({}, recovery.read_committed_offsets(group))
      iterator({name => {0 => 0...3, 1 => true}}, settings: {"group.id": group}).each { |message, one|
        one.mark_as_consumed(message)
      }

      assert_equal({name => {0 => 3, 1 => 5}}, recovery.read_committed_offsets(group, last_committed_at: Time.now - 600))
      assert_equal({}, recovery.read_committed_offsets(group, last_committed_at: Time.now + 600))
      place = recovery.coordinator_for(group)
      assert_equal [Admin.open(kafka) { |admin| admin.group_info(group)[:coordinator] }, bootstrap_servers],
        [place[:broker_id], place[:broker_host]]
      assert_includes recovery.affected_groups(place[:partition]), group
      assert_includes recovery.affected_partitions(place[:broker_id]), place[:partition]
    end

    test "[recovery] a commit of an aborted transaction isn't one" do
      name, group = topic(1), unique("aborted")
      metadata = Native::GroupMetadata.for_group(group)
      with_transactions do |producer|
        producer.transaction { producer.send_offsets([[name, 0, 4, nil]], metadata) }
        producer.transaction do
          producer.send_offsets([[name, 0, 9, nil]], metadata)
          raise AbortTransaction
        end
      end

      assert_equal({name => {0 => 4}}, Admin::Recovery.new(kafka: kafka).read_committed_offsets(group))
    end

    private

    def with_transactions
      producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": bootstrap_servers, "transactional.id": unique("id")}
        config.logger = Logger.new(nil)
      end
      yield producer
    ensure
      producer&.close
    end
  end
end
