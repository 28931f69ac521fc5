# frozen_string_literal: true

require "test_helper"
require "support/native_member"

module Penstock
  module Native
    # How a client starts: it only waits for answers. Its actions are read from librdkafka's own debug lines.
    class StartTest < TestCase
      include TestSupport::NativeCluster

      # @return [Array<String>] its log until its first record
      def started(name)
        skip "needs the patched librdkafka" unless Native.patched?
        produce(name, %w[a])
        one = member(name, debug: "broker,cgrp,topic")
        one.await_records([name, 0], 1)
        one.events.select { |event| event.first == :log }.map { |event| event[3] }
      end

      test "if nothing was committed the first offset is requested at once" do
        lines = started(topic).grep(/offset query|querying for logical offset/)

        refute_empty lines.grep(/querying for logical offset/)
        assert_empty lines.grep(/backoff/)
      end

      test "after the connection to the first broker the next connection is made at once" do
        lines = started(topic)
        let_go = lines.index { |line| line.include?("Sending TERMINATE to") }
        chosen = lines.drop(let_go).index { |line| line.include?("Selected for cluster connection") }

        refute_nil chosen, lines.drop(let_go).join("\n")
        assert_empty lines[let_go, chosen].grep(/still suppressed/)
      end

      # Otherwise a member whose request is sent twice would count as two, and the group would wait for it until the session
      # timeout.
      test "the embedded broker assigns a member id first, and the member joins with it" do
        skip "needs the patched librdkafka" unless Native.patched?
        own = MockCluster.new
        own.create_topic("orders", 2)
        own.group_initial_rebalance_delay = 50
        own.track_requests
        one = TestSupport::NativeMember.new(own, "orders")
        one.await_assignment(2)

        assert_operator own.requests.count { |_broker, kind, _time| kind == :join_group }, :>=, 2
      ensure
        one&.close(500)
        own&.close
      end
    end
  end
end
