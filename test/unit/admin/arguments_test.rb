# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  # Arguments of commands: read, or refused before a connection is opened.
  class AdminArgumentsTest < TestCase
    Arguments = Admin::Arguments

    test "names may be Symbols; each is taken once" do
      assert_equal %w[orders clicks], Arguments.names("topic", [:orders, "clicks", "orders"])
      assert_equal ["orders"], Arguments.names("topic", "orders")
      assert_equal ["group: has no name", "group: nil is no name", "group: 5 is no name"],
        problems { Arguments.names("group", [" ", nil, "g", 5]) }
    end

    test "a name with a zero byte, which C takes for the end, is refused" do
      assert_equal ["group: \"a\\u0000b\" contains a zero byte", "group: \"\\u0000\" contains a zero byte"],
        problems { Arguments.names("group", %W[a\0b \0]) }
    end

    test "numbers that Kafka has no room for are refused" do
      assert_equal ["a: 2147483648 is no partition"], problems { Arguments.partitions({"a" => [2**31, (2**31) - 1]}) }
      row = {topic: "a", partition: 2**31, offset: 2**63, leader_epoch: 2**31}
      assert_equal ["a/2147483648: partition can't be 2147483648", "a/2147483648: offset can't be 9223372036854775808",
        "a/2147483648: leader_epoch can't be 2147483648"], problems { Arguments.commits([row]) }
      assert_equal 1, Arguments.commits([row.merge(partition: (2**31) - 1, offset: (2**63) - 1, leader_epoch: -7)]).size
    end

    test "groups are an Array, or a Hash with the topics of each" do
      assert_equal({"g" => nil, "h" => nil}, Arguments.groups(["g", :h]))
      assert_equal({"g" => ["a"], "h" => nil}, Arguments.groups(:g => [:a], "h" => nil))
      assert_match(/\Agroups: "g" is no Hash or Array of groups. Give topics by group, as in /,
        problems { Arguments.groups("g") }.first)
    end

    test "partitions are Arrays or Ranges by topic; all that is wrong is named" do
      assert_equal [["orders", 0], ["orders", 1], ["clicks", 3]], Arguments.partitions(:orders => 0..1, "clicks" => [3])
      assert_empty Arguments.partitions({"orders" => []})
      assert_equal ["a: -1 is no partition", "a: \"0\" is no partition", "b: 0 is no list of partitions#{hint}",
        "topic: has no name"], problems { Arguments.partitions({"a" => [-1, "0", 2], "b" => 0, "" => [0]}) }
      assert_equal ["a/0: is given 2 times"], problems { Arguments.partitions({"a" => [0], :a => [0, 1]}) }
      assert_equal ["topics: name no partition#{hint}"], problems { Arguments.some_partitions({"a" => []}) }
    end

    test "commits are rows as they are read; a leader epoch that isn't known is left out" do
      rows = [{topic: :orders, partition: 0, offset: 4, metadata: "text", leader_epoch: -1},
        {topic: "orders", partition: 1, offset: 0}]
      assert_equal({["orders", 0] => ["orders", 0, 4, "text", nil], ["orders", 1] => ["orders", 1, 0, nil, nil]},
        Arguments.commits(rows))
      assert_equal ["row 0: [\"a\", 0, 1] is no Hash. Its members are topic, partition, offset, metadata, leader_epoch",
        "row 1, topic: nil is no name", "a/\"0\": partition can't be \"0\"", "a/\"0\": offset can't be nil",
        "a/0: offset can't be -1", "a/0: metadata can't be 5", "a/0: leader_epoch can't be \"x\""],
        problems {
          Arguments.commits([["a", 0, 1], {partition: 0}, {topic: "a", partition: "0"},
            {topic: "a", partition: 0, offset: -1, metadata: 5, leader_epoch: "x"}])
        }
      assert_equal ["a/0: is given 2 times"], problems { Arguments.commits([{topic: "a", partition: 0, offset: 1}] * 2) }
    end

    # By command, what is refused and the beginning of its message.
    BAD = {
      topic_configs: [[nil], "topic: nil is no name"],
      delete_records: [[{"" => 1}], "topic: has no name"],
      delete_consumer_group: [[nil], "group: nil is no name"],
      write_committed_offsets: [["g", [{topic: "t", partition: 0, offset: -1}]], "t/0: offset can't be -1"],
      delete_committed_offsets: [["g", {"t" => 0}], "t: 0 is no list of partitions"],
      seek_consumer_group: [["g", {"t" => 1, :t => 2}], "t: is given 2 times"],
      read_lags_with_offsets: ["g", "groups: \"g\" is no Hash or Array of groups"],
      copy_consumer_group: [["g", ""], "group: has no name"],
      trigger_rebalance: [["g", []], "topics: is empty"],
      create_acls: [[nil], "nil: is no Penstock::Admin::Acl"],
      describe_acls: [[nil], "nil: is no Penstock::Admin::Acl"],
      delete_acls: [[], "no ACL is given"],
      describe_users: [[""], "user: has no name"],
      set_password: [["u", ""], "user u: the password is empty"],
      describe_configs: [[], "no resource is given"],
      alter_configs: [["orders"], "\"orders\": is no Penstock::Admin::Configs::Resource"],
      describe_topics: [[""], "topic: has no name"],
      elect_leaders: [[{"t" => [0, 0]}], "t/0: is given 2 times"],
      create_topic: [["t", 0], "partitions: 0 is no number from 1 to 2147483647"],
      create_partitions: [["t", nil], "partitions: nil is no number from 1 to 2147483647"],
      delete_topic: [[nil], "topic: nil is no name"],
      topic_info: [[""], "topic: has no name"],
      group_info: [[nil], "group: nil is no name"],
      group_lag: [[""], "group: has no name"],
      read_committed_offsets: [["g", "t"], "topics: \"t\" is no Hash"],
      read_watermark_offsets: [["t"], "t: nil is no partition"],
      read_partition_offsets: [[{"t" => [{partition: 0, offset: :last}]}], "offset :last: is none of :earliest, :latest"],
      offsets_for_times: [[{"t" => 5}], "t: 5 is no list of partitions"],
      read_topic: [["t", -1, 5], "t: -1 is no partition"]
    }.freeze
    private_constant :BAD

    test "[Alter bad op] what can't be meant is refused by every command before a connection is opened" do
      admin = Admin.new(kafka: {"bootstrap.servers": "127.0.0.1:1"})
      before = Native.handle_count
      BAD.each do |command, (arguments, message)|
        error = assert_raises(InvalidRequestError, command.to_s) { admin.public_send(command, *arguments) }
        assert_operator error.message, :start_with?, message
      end

      assert_equal before, Native.handle_count
    ensure
      admin.close
    end

    private

    def hint = ". Give partitions by topic, as in {\"orders\" => [0, 1]}"
    def problems(&block) = assert_raises(InvalidRequestError, &block).problems.map(&:to_s)
  end
end
