# frozen_string_literal: true

require "test_helper"
require "support/declared"
require "penstock/declaratives/health"

module Penstock
  # Which topics risk records.
  class DeclarativesHealthTest < TestCase
    include TestSupport::Declared

    SAFE = {"min.insync.replicas" => "2", "unclean.leader.election.enable" => "false"}.freeze

    def findings(*topics) = Health.of(cluster(*topics)).map { |one| [one.name, one.level, one.text[/\A[^:]*/]] }

    test "three replicas of which two are in sync are fine" do
      assert_empty findings(present(config: SAFE))
    end

    test "[topics health] RF 1 red" do
      assert_equal [["orders", :red, "replication factor 1"]],
        findings(present(replication_factor: 1, config: {"min.insync.replicas" => "1"}))
    end

    test "as many in-sync replicas as copies is red, one of several is yellow" do
      assert_equal [["orders", :red, "min.insync.replicas 3 with replication factor 3"]],
        findings(present(config: {"min.insync.replicas" => "3"}))
      assert_equal [["orders", :yellow, "min.insync.replicas 1"]], findings(present(config: {"min.insync.replicas" => "1"}))
    end

    test "unclean elections are yellow" do
      assert_equal [["orders", :yellow, "unclean.leader.election.enable"]],
        findings(present(config: {**SAFE, "unclean.leader.election.enable" => "true"}))
    end

    test "partitions without a leader or with replicas that lag are red, and come first" do
      found = findings(present("a", config: {"min.insync.replicas" => "1"}),
        present("b", config: SAFE, offline: 1, under_replicated: 2))

      assert_equal %w[b b a], found.map(&:first)
      assert_equal [["b", :red, "1 partition has no leader"], ["b", :red, "2 partitions have replicas that are not in sync"]],
        found.first(2).sort
    end

    test "each finding has advice" do
      Health.of(cluster(present("a", replication_factor: 1),
        present("b", offline: 1, under_replicated: 1, config: SAFE))).each do |one|
        refute_empty one.advice.to_s
      end
    end
  end
end
