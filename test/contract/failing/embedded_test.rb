# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "penstock/admin"
require_relative "bulk_contract"
require_relative "failing_contract"
require_relative "gathering_contract"

module Penstock
  class FailingOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include BulkContract
    include FailingContract
    include GatheringContract

    BulkContract.add_to(self)
    FailingContract.add_to(self)
    GatheringContract.add_to(self)

    def kafka = {**super, "auto.commit.interval.ms": 200}
    def native = super.slice("bootstrap.servers")

    test "the source's offset never moves before the dead letter is acknowledged, and user code doesn't run again for it" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      create_topic(dead, 1)
      send_records(topic, [["bad", nil], ["good", nil]])
      self.class.cluster.inject_errors(:produce, [:topic_authorization_failed] * 100)
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) do
        messages.each do |message|
          seen << message.offset
          raise "no" if message.offset.zero?
        end
      end
      2.times { wait_until(10, "a failed dispatch") { dispatch_failed?(running) } }
      assert_nil committed_offset(topic)

      self.class.cluster.clear_errors(:produce)
      assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
      await_committed(topic, 2)
      assert_equal 1, all(seen).count(0)
    end

    test "a record whose consumer ends its thread is retried and dead-lettered like any other" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      send_records(topic, [["good", nil], ["bad", nil], ["fine", nil]])
      consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 1) }) do
        messages.each do |message|
          seen << message.offset
          Thread.exit if message.offset == 1
        end
      end
      assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
      await_committed(topic, 3)
      assert_equal 2, all(seen).count(1)
    end

    test "[MOM] retention deletes some of the redelivered records: the others come, even if the policy is to continue at the end" do
      topic, seen, cluster = numbered_topic(20), [], self.class.cluster
      beginning = consuming(topic, manual_without_marks) {}
      wait_until(20, "the offset where the group began") { committed(topic).zero? }
      beginning.stop
      running = consuming(topic, manual_without_marks, max_messages: 5, kafka: {"auto.offset.reset": "latest"}) do
        seen.concat(messages.map(&:offset))
        if messages.last.offset >= 12 && !@failed
          @failed = true
          cluster.delete_records(topic, 0, 7)
          raise "no"
        end
      end
      wait_until(20, "the last record", state: -> { running.application.snapshot }) { seen.count(7) == 2 && seen.last == 19 }
      running.stop

      assert_equal (7...20).to_a, seen.last(13)
      assert_equal 7, committed(topic)
    end

    test "[MOM] retention deletes all redelivered records: the offset moves to the end of the log without waiting for a record" do
      topic, seen, cluster = numbered_topic(10), queue, self.class.cluster
      running = consuming(topic, manual_without_marks, max_messages: 5) do
        seen << messages.map(&:offset)
        cluster.delete_records(topic, 0, 10) if messages.last.offset == 9
        raise "no" if messages.last.offset == 9
      end
      wait_until(20, "the end", state: -> { running.application.snapshot }) { committed(topic) == 10 }
      running.stop

      assert_equal (0...10).to_a, all(seen).flatten
    end

    private

    # @return [Proc] the route
    def manual_without_marks = ->(_) { manual_offset_management true }

    def dispatch_failed?(running)
      !running.errors.empty? && running.errors.pop[:type] == "dead_letter_queue.dispatch.error"
    end

    # A negative offset means that there is no commit yet.
    def committed_offset(topic)
      offset = committed(topic)
      (offset.negative? || offset.zero?) ? nil : offset
    end
  end
end
