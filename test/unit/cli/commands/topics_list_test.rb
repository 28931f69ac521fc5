# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/target"
require "support/commands"

module Penstock
  # `penstock topics list`: a table or JSON, of what exists when it is asked for.
  class TopicsListTest < TestCase
    include TestSupport::Commands

    # Answers with these topics and their partitions, or raises.
    Admin = Struct.new(:known) do
      def topics(internal:, details:)
        raise known if known.is_a?(Exception)

        known.select { |name, _partitions| internal || !name.start_with?("__") }.sort
          .to_h { |name, partitions| [name, details && {partitions: partitions, replication_factor: 3}] }
      end
    end

    def list(known, *argv)
      replacing(CLI::Target, TestSupport::Commands::Target.new(cluster: Admin.new(known))) { penstock("topics", "list", *argv) }
    end

    test "each topic is a row with its partitions and replicas, numbers to the right" do
      assert_equal "topic     partitions  replicas\norders            12         3\npayments           3         3\n",
        list({"orders" => 12, "payments" => 3}).out
      assert_equal [{"name" => "orders", "partitions" => 12, "replicas" => 3}], JSON.parse(list({"orders" => 12}, "--json").out)
    end

    test "a cluster without topics is a sentence, and an empty list in JSON" do
      assert_equal "no topics that this user may see\n", list({}).out
      assert_equal [], JSON.parse(list({}, "--json").out)
    end

    test "internal topics are only listed with --internal" do
      known = {"__consumer_offsets" => 50, "orders" => 1}

      assert_equal [%w[orders], %w[__consumer_offsets orders]],
        [list(known, "--json"), list(known, "--json", "--internal")].map { |one| JSON.parse(one.out).map { |row| row["name"] } }
    end

    test "an error of the cluster fails the command" do
      refused = list(kafka_error(:topic_authorization_failed))
      assert_equal [1, ""], [refused.code, refused.out]
    end
  end
end
