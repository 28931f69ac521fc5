# frozen_string_literal: true

require "test_helper"
require "penstock/cli/target"
require "support/commands"

module Penstock
  # `penstock topics create`: what it requests, and what its exit code means.
  class TopicsCreateTest < TestCase
    include TestSupport::Commands

    # Remembers the requests, and raises what a name is mapped to.
    Admin = Struct.new(:answers, :created) do
      def create_topic(name, **options)
        raise answers[name] if answers[name]
        created << [name, options]
      end
    end

    def create(*argv, **answers)
      @admin = Admin.new(answers.transform_keys(&:to_s), [])
      replacing(CLI::Target, TestSupport::Commands::Target.new(cluster: @admin)) { penstock("topics", "create", *argv) }
    end

    test "a topic has one partition and one replica, unless options set them" do
      assert_equal ["created a\n", 0], create("a").then { |result| [result.out, result.code] }
      assert_equal [["a", {partitions: 1, replication_factor: 1, config: {}}]], @admin.created
      create("b", "--partitions", "6", "-r", "3", "--config", "retention.ms=5")
      assert_equal [["b", {partitions: 6, replication_factor: 3, config: {"retention.ms" => "5"}}]], @admin.created
    end

    test "an existing topic is a failure without --if-missing, and the other topics are created all the same" do
      found = create("a", "b", a: kafka_error(:topic_already_exists))
      assert_equal ["created b\n", "a: already exists\n", 1], found.to_a
      found = create("a", "b", "--if-missing", a: kafka_error(:topic_already_exists))
      assert_equal ["created b\n", "a: already exists\n", 0], found.to_a
    end

    test "any other refusal is a failure, also with --if-missing, and names the topic once" do
      found = create("a", "--if-missing", a: kafka_error(:policy_violation, "a: too many partitions"))
      assert_equal ["", "a: too many partitions (policy_violation)\n", 1], found.to_a
    end
  end
end
