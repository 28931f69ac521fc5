# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock/admin"

module Penstock
  # With which settings a member joins a group to make it rebalance.
  class RebalanceTriggerTest < TestCase
    # A member that is given its part at once.
    Member = Struct.new(:settings, :topics) do
      def subscribe(topics) = self.topics = topics
      def wait(_ms) = nil
      def poll_event = [:assign]
      def answer = nil
      def close(_ms) = nil
    end
    Session = Struct.new(:connection, :timeout_ms, :partitions)
    # Describes each group in the same way, or raises.
    Groups = Struct.new(:found) do
      def info(_group) = found.is_a?(Exception) ? raise(found) : found
    end
    STICKY = "cooperative-sticky"

    # @return [Member] that has joined
    def joined(found, topics: ["orders"], kafka: {}, settings: {})
      connection = Admin::Connection.new({"bootstrap.servers": "a:1", **kafka})
      session = Session.new(connection, 1_000, {"orders" => [0]})
      made = nil
      Native::Consumer.stub(:new, ->(given) { made = Member.new(given) }) do
        Admin::RebalanceTrigger.new(session, Groups.new(found), settings).call("shop", topics)
      end
      made
    end

    def protocol(...) = joined(...).settings.slice("group.protocol", "partition.assignment.strategy").values

    def error(code) = Native.error_for(Native.error_number(code), "group shop")

    test "it joins with the protocol and the assignor that the group has" do
      assert_equal ["range"], protocol({type: "Classic", assignor: "range"})
      assert_equal ["consumer"], protocol({type: "Consumer", assignor: "uniform"})
    end

    test "a group without an assignor, or with one that librdkafka doesn't have, is joined as Penstock's own members do" do
      [{type: "Classic", assignor: ""}, {type: "Classic", assignor: "stream"}, error(:group_id_not_found),
        error(:unsupported_feature)].each { |found| assert_equal [STICKY], protocol(found) }
      refused = assert_raises(KafkaError) { protocol(error(:group_authorization_failed)) }
      assert_equal :group_authorization_failed, refused.code
    end

    test "the group's protocol counts, not the one of the connection's settings" do
      own = {"group.protocol": "consumer", "group.remote.assignor": "range", "session.timeout.ms": 6_000, "fetch.wait.max.ms": 9}
      settings = joined({type: "Classic", assignor: "range"}, kafka: own).settings

      assert_equal({"bootstrap.servers" => "a:1", "partition.assignment.strategy" => "range", "group.id" => "shop",
                    "fetch.wait.max.ms" => "9", "enable.auto.commit" => "false", "enable.auto.offset.store" => "false"}, settings)
    end

    test "a protocol or an assignor that the caller gives is taken, without a look at the group" do
      never = RuntimeError.new("must not be described")
      assert_equal ["roundrobin"], protocol(never, settings: {"partition.assignment.strategy" => "roundrobin"})
      assert_equal ["consumer"], protocol(never, settings: {"group.protocol" => "consumer"})
    end

    test "topics that don't exist are left out, and refused if no other is named" do
      assert_equal ["orders", "^o"], joined({type: "Classic"}, topics: %w[orders missing ^o]).topics
      refused = assert_raises(KafkaError) { joined({type: "Classic"}, topics: %w[missing]) }
      assert_equal :unknown_topic_or_part, refused.code
    end
  end
end
