# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/target"
require "support/commands"

module Penstock
  # `penstock groups lag`: which groups it asks for, and what it prints.
  class GroupsLagTest < TestCase
    include TestSupport::Commands

    # The lag of each group, and what listing the groups returns or raises.
    Admin = Struct.new(:names, :asked, :incomplete) do
      def groups
        raise names if names.is_a?(Exception)
        names.map { |name| {group: name} }
      end

      def group_lag(group, topics)
        asked << [group, topics]
        return [] if group == "nobody"
        [{group: group, topic: "orders", partition: 0, committed: 5, end: 9, lag: 4, incomplete: incomplete},
          {group: group, topic: "orders", partition: 1, committed: nil, end: 2, lag: nil, incomplete: nil}]
      end
    end

    def lag(*argv, names: [], application: nil, groups: {}, incomplete: 4)
      @admin = Admin.new(names, [], incomplete)
      target = TestSupport::Commands::Target.new(cluster: @admin, application: application, groups: groups)
      replacing(CLI::Target, target) { penstock("groups", "lag", *argv) }
    end

    test "each partition is a row, one without a commit has no lag, and the last line is the sum" do
      assert_equal <<~TEXT, lag("a").out
        group  topic   partition  committed  end  lag  incomplete
        a      orders          0          5    9    4           4
        a      orders          1          -    2    -           -

        total lag: 4
      TEXT
      assert_equal [4, nil], JSON.parse(lag("a", "--json").out).map { |row| row["lag"] }
    end

    test "a group without commits, as one that doesn't exist, is named" do
      assert_equal "no commits of nobody; `penstock groups list` shows the groups of the cluster\n", lag("nobody").out
    end

    test "records that are complete beyond the committed offset are named" do
      last = lag("a", incomplete: 1).out.lines.last.chomp
      assert_equal "total lag: 4, of which 3 are complete beyond the committed offsets", last
    end

    test "the groups are the named ones, or those of the application with its topics, or all of the cluster, sorted" do
      lag("a", "b", application: true, groups: {"c" => ["t"]})
      assert_equal [["a", nil], ["b", nil]], @admin.asked
      lag(application: true, groups: {"c" => ["t"]})
      assert_equal [["c", ["t"]]], @admin.asked
      lag(names: %w[z a])
      assert_equal [["a", nil], ["z", nil]], @admin.asked
      assert_equal "no commits\n", lag(names: []).out
    end

    test "if the groups can't be listed, the message asks for a name and gives both reasons" do
      refused = lag(names: kafka_error(:cluster_authorization_failed, "not allowed"))
      assert_equal 1, refused.code
      assert_match(/name a group: no application is loaded, and the cluster's groups can't be listed \(.*not allowed/,
        refused.err)
    end
  end
end
