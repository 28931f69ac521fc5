# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/target"
require "support/commands"

module Penstock
  # `penstock topics list`: a table or JSON, of what exists when it is asked for.
  class TopicsListTest < TestCase
    include TestSupport::Commands

    # Topics, with the partitions of each or the error that asking for it raises.
    Admin = Struct.new(:known, :asked) do
      def topics(internal:)
        self.asked = internal
        known
      end

      def topic_info(name)
        raise known[name] if known[name].is_a?(Exception)
        {partition_count: known[name], replication_factor: 3}
      end
    end

    def list(known, *argv)
      @admin = Admin.new(known)
      replacing(CLI::Target, TestSupport::Commands::Target.new(cluster: @admin)) { penstock("topics", "list", *argv) }
    end

    test "each topic is a row with its partitions and replicas, numbers to the right" do
      assert_equal "topic     partitions  replicas\norders            12         3\npayments           3         3\n",
        list({"orders" => 12, "payments" => 3}).out
      assert_equal [{"name" => "orders", "partitions" => 12, "replicas" => 3}], JSON.parse(list({"orders" => 12}, "--json").out)
    end

    test "a cluster without topics is a sentence, and an empty list in JSON" do
      assert_equal "no topics\n", list({}).out
      assert_equal [], JSON.parse(list({}, "--json").out)
    end

    test "internal topics are only requested with --internal" do
      list({})
      refute @admin.asked
      list({}, "--internal")
      assert @admin.asked
    end

    test "a topic that is deleted meanwhile is left out; any other error fails the command" do
      assert_equal ["orders"], JSON.parse(list({"gone" => kafka_error(:unknown_topic_or_part), "orders" => 1}, "--json").out)
        .map { |row| row["name"] }
      refused = list({"orders" => kafka_error(:topic_authorization_failed)})
      assert_equal [1, ""], [refused.code, refused.out]
    end
  end
end
