# frozen_string_literal: true

require "test_helper"
require "json"
require "support/declared_topics"

module Penstock
  # `penstock topics health`: which topics it looks at, and its exit codes.
  class TopicsHealthTest < TestCase
    include TestSupport::DeclaredTopics

    def setup
      super
      safe = {"min.insync.replicas" => "2"}
      @cluster = TestSupport::DeclaredTopics::Cluster.new("one" => {partitions: 1, replication_factor: 1},
        "safe" => {partitions: 1, config: safe}, "weak" => {partitions: 1, config: {"min.insync.replicas" => "1"}},
        "__internal" => {partitions: 1, replication_factor: 1})
    end

    test "red ones come first, and internal topics are left out" do
      assert_equal ["red     one", "yellow  weak"], topics("health").out.lines.map { |line| line[/\A[^:]*/] }
      assert_equal [0, 2], [topics("health").code, topics("health", "--detailed-exitcode").code]
    end

    test "named topics only; one that doesn't exist is an error" do
      assert_equal ["1 topic: nothing to report\n", "", 0], topics("health", "safe", "--detailed-exitcode").to_a
      assert_equal ["nowhere: there is no such topic\n", 1], topics("health", "safe", "nowhere").to_a.values_at(1, 2)
    end

    test "as JSON" do
      assert_equal [%w[one red], %w[weak yellow]],
        JSON.parse(topics("health", "--json").out).map { |finding| finding.values_at("name", "level") }
    end
  end
end
