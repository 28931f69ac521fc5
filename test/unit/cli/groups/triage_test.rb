# frozen_string_literal: true

require "test_helper"
require "penstock/cli/groups/triage"

module Penstock
  # Which groups need a person.
  class GroupsTriageTest < TestCase
    MEMBER = {partitions: [["orders", 0]]}.freeze

    def info(state, *members) = {state: state, members: members}

    def row(committed, lost: 0, last: 100, complete: 0)
      {topic: "orders", partition: 0, committed: committed, lost: lost, end: last, lag: last - committed,
       incomplete: last - committed - complete}
    end

    def found(info, *rows, retention: nil)
      CLI::Groups::Triage.of({"shop" => info}, {"shop" => rows}, retention_minutes: retention).map { |one| [one.level, one.text] }
    end

    test "a group whose members have partitions, within the log, needs nobody" do
      assert_empty found(info("Stable", MEMBER, {partitions: []}), row(50))
    end

    test "a group without members that has records to consume is red, with the time after which its offsets are deleted" do
      expiry = "brokers delete its offsets 7 days after its last member left"
      assert_equal [[:red, "has no members, and 50 records to consume; #{expiry}"]],
        found(info("Empty"), row(50), retention: 10_080)
      assert_equal [[:yellow, "has no members, and nothing to consume"]], found(info("Empty"), row(100))
      assert_empty found(info("Empty"))
    end

    test "members without any partition are red" do
      assert_equal [[:red, "has 2 members, and none has a partition"]], found(info("Stable", {partitions: []}, {partitions: []}))
    end

    test "an unfinished rebalance is yellow" do
      %w[PreparingRebalance CompletingRebalance Reconciling].each do |state|
        assert_equal [[:yellow, "is in state #{state} with 1 member"]], found(info(state, {partitions: []}))
      end
    end

    test "offsets outside of the log are red" do
      assert_match(/is ahead of the log in orders\/0: it follows auto\.offset\.reset/,
        found(info("Stable", MEMBER), row(150))[0][1])
      {30 => "30 records were", 1 => "1 record was"}.each do |lost, text|
        assert_match(/retention has deleted: #{text} never consumed/, found(info("Stable", MEMBER), row(10, lost: lost))[0][1])
      end
    end

    test "neither lost records nor those that the commit lists as complete are to be consumed" do
      assert_equal "has no members, and 7 records to consume", found(info("Empty"), row(3, lost: 1, complete: 89))[1][1]
      assert_equal "has no members, and nothing to consume", found(info("Empty"), row(3, lost: 1, complete: 96))[1][1]
    end

    test "after a loss the advice is to start the processes; a reset is for groups that begin at the end, and repeats" do
      found = CLI::Groups::Triage.of({"a" => info("Empty")}, {"a" => [row(3, lost: 1, complete: 96)]}).first

      assert_match(/\AWith initial_offset earliest, its processes continue .* With latest .* reset a --to earliest\. That rep/,
        found.advice)
    end

    test "red ones come first, and each has advice" do
      both = CLI::Groups::Triage.of({"a" => info("Empty"), "b" => info("Empty")}, {"a" => [row(100)], "b" => [row(1)]})

      assert_equal %w[b a], both.map(&:group)
      assert(both.all? { |one| one.advice.size > 10 })
    end
  end
end
