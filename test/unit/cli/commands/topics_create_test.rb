# frozen_string_literal: true

require "test_helper"
require "penstock"
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

    def create(*argv, application: nil, **answers)
      @admin = Admin.new(answers.transform_keys(&:to_s), [])
      replacing(CLI::Target, TestSupport::Commands::Target.new(cluster: @admin, application: application)) { penstock("topics", "create", *argv) }
    end

    test "a topic has one partition and one replica, unless options set them" do
      assert_equal ["created a\n", 0], create("a").then { |result| [result.out, result.code] }
      assert_equal [["a", {partitions: 1, replication_factor: 1, config: {}}]], @admin.created
      create("b", "--partitions", "6", "-r", "3", "--config", "retention.ms=5")
      assert_equal [["b", {partitions: 6, replication_factor: 3, config: {"retention.ms" => "5"}}]], @admin.created
    end

    test "a topic that the application declares is created as declared, and refuses options" do
      application = Application.new("shop")
      application.declaratives.draw do
        topic(:a) do
          partitions 4
          config("retention.ms": 9)
        end
      end
      assert_equal 0, create("a", "b", "--if-missing", application: application).code
      assert_equal [["a", {partitions: 4, replication_factor: 1, config: {"retention.ms" => "9"}}],
        ["b", {partitions: 1, replication_factor: 1, config: {}}]], @admin.created

      found = create("b", "a", "--partitions", "3", application: application)
      assert_equal [1, []], [found.code, @admin.created]
      assert_match(/a is declared, so --partitions isn't for it: change its declaration/, found.err)
    end

    test "a number below 1 is refused" do
      assert_equal "penstock: topics create: --partitions must be at least 1, is -1\n", create("a", "-p", "-1").err
      assert_match(/--replication-factor must be at least 1, is 0/, create("a", "-r", "0").err)
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
