# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/real_broker"
require_relative "consuming_contract"

module Penstock
  class ConsumingOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    ConsumingContract.add_to(self)

    # Features that only it supports: look-ups by time, the new group protocol, its own limits.
    def kafka = {"bootstrap.servers": bootstrap_servers}

    test "[seek offset/Time] a time means the offset of the first record at or after it" do
      topic, seen = topic_with(3), queue
      observe_for(0.02)
      boundary = Time.now.floor(3) # times of records have milliseconds
      produce(topic, %w[late])
      consuming(topic) do
        seen << messages.first.offset
        seek(boundary) if messages.first.offset.zero?
      end

      assert_equal [0, 3], take(seen, 2)
    end

    test "[KIP-848] the new group protocol consumes like the classic one" do
      topic, seen = topic_with(20), queue
      first = consuming(topic, kafka: {"group.protocol": "consumer"}) { messages.each { |message| seen << message.offset } }

      assert_equal (0...20).to_a, take(seen, 20)
      assert_equal 0, first.stop
      assert_equal 20, committed(topic)
    end

    test "[KIP-848] a group changes from one protocol to the other without losing its offsets" do
      topic, seen = topic_with(5), queue
      consuming(topic) { messages.each { |message| seen << message.offset } }.tap { take(seen, 5) }.stop
      produce(topic, %w[more])
      consuming(topic, kafka: {"group.protocol": "consumer"}) { messages.each { |message| seen << message.offset } }

      assert_equal [5], take(seen, 1)
    end

    test "[KIP-848] the members of a running group change to the new protocol one by one: no record is lost, or runs twice" do
      topic, seen = topic_with(5, partitions: 2), queue
      produce(topic, Array.new(5, &:to_s), partition: 1)
      classic = [member(topic, seen)]
      await_partitions(classic, 2)
      classic << member(topic, seen) # a rebalance, as every running group has had
      await_partitions(classic, 1)
      assert_equal "Classic", group_type
      changed = replace_each(classic, topic, seen)

      assert_equal "Consumer", group_type
      assert_equal [[*0...9]] * 2, take(seen, 18).group_by(&:first).sort.map { |_partition, runs| runs.map(&:last) }
      assert_equal [0, 0], changed.map(&:stop)
      assert_equal [9, 9, true], [committed(topic, 0), committed(topic, 1), seen.empty?]
    end

    private

    def delete_records(topic, before) = Admin.open(kafka) { |admin| admin.delete_records(topic => {0 => before}) }

    def group_type = Admin.open(kafka) { |admin| admin.group_info(group)[:type] }

    def member(topic, seen, **kafka)
      consuming(topic, kafka: kafka) { messages.each { |message| seen << [message.partition, message.offset] } }
    end

    # Each member stops and begins again with the new protocol; two records arrive in each partition meanwhile.
    # @return [Array<Running>]
    def replace_each(members, topic, seen)
      members = members.dup
      members.each_index.map do |index|
        assert_equal 0, members[index].stop
        one_more(topic)
        members[index] = member(topic, seen, "group.protocol": "consumer")
        one_more(topic)
        members[index].tap { await_partitions(members, 1) }
      end
    end

    def one_more(topic) = 2.times { |partition| produce(topic, ["more"], partition: partition) }

    def await_partitions(members, count)
      wait_until(60, "#{count} partitions each", state: -> { members.map { |member| member.application.snapshot } }) do
        members.all? { |member| member.application.assignments.values.sum(&:size) == count }
      end
    end
  end
end
