# frozen_string_literal: true

require "test_helper"
require "socket"
require "support/native_member"

module Penstock
  module Native
    # How a client begins: it waits for answers, and for nothing else. What it did is read off librdkafka's own debug lines.
    class StartTest < TestCase
      include TestSupport::NativeCluster

      # @return [Array<String>] what it told until its first record
      def started(name)
        skip "needs the patched librdkafka" unless Native.patched?
        produce(name, %w[a])
        one = member(name, debug: "broker,cgrp,topic")
        one.await_records([name, 0], 1)
        one.events.select { |event| event.first == :log }.map { |event| event[3] }
      end

      test "where nothing was committed the first offset is asked for at once" do
        lines = started(topic).grep(/offset query|querying for logical offset/)

        refute_empty lines.grep(/querying for logical offset/)
        assert_empty lines.grep(/backoff/)
      end

      test "behind the broker it began at the next connection is made at once" do
        lines = started(topic)
        let_go = lines.index { |line| line.include?("Sending TERMINATE to") }
        chosen = lines.drop(let_go).index { |line| line.include?("Selected for cluster connection") }

        refute_nil chosen, lines.drop(let_go).join("\n")
        assert_empty lines[let_go, chosen].grep(/still suppressed/)
      end

      test "whose connection breaks while he joins is waited for as the same member, not as two" do
        skip "needs the patched librdkafka" unless Native.patched?
        assert cut_off_while_joining { |one| one.await_assignment(2, 40) }
      end

      private

      # Between down and up the broker's port may go to somebody else on the machine: then once more, with another one.
      def cut_off_while_joining
        5.times do
          own = MockCluster.new
          one = joining(own)
          own.broker_down(1)
          own.broker_up(1)
          return yield one if listening?(own)
        ensure
          one&.close(500)
          own&.close
        end
        flunk "a broker never came back on its port"
      end

      # @return [TestSupport::NativeMember] that has asked to join
      def joining(own)
        own.create_topic("orders", 2)
        own.group_initial_rebalance_delay = 1_000
        own.track_requests
        one = TestSupport::NativeMember.new(own, "orders", session_timeout_ms: 120_000, reconnect_backoff_ms: 20,
          reconnect_backoff_max_ms: 100)
        one.turn_until(10, "request to join") { own.requests.any? { |_broker, kind, _time| kind == :join_group } }
        one
      end

      def listening?(own)
        host, port = own.bootstrap_servers.split(":")
        wait_until(3, "listener") { TCPSocket.new(host, port).close || true rescue false } # rubocop:disable Style/RescueModifier
      rescue TestSupport::Wait::TimeoutError
        false
      end
    end
  end
end
