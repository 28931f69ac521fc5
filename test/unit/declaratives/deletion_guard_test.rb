# frozen_string_literal: true

require "test_helper"
require "penstock/declaratives/deletion_guard"

module Penstock
  # Which topics must not be deleted.
  class DeletionGuardTest < TestCase
    # Groups by name: their state, the topics of their members, and those they have commits of.
    Cluster = Struct.new(:rows, :asked) do
      def groups
        raise rows if rows.is_a?(Exception)

        rows.map { |group, (state, *)| {group: group, state: state} }
      end

      def group_infos(groups)
        asked.concat(groups)
        groups.to_h do |group|
          topics = rows.fetch(group)[1]
          next [group, topics] if topics.is_a?(Exception)

          [group, {members: topics.map { |topic| {partitions: topic ? [[topic, 0], [topic, 1]] : []} }}]
        end
      end

      def read_committed_offsets(group, **) = rows.fetch(group)[2].flat_map { |topic| [{topic: topic, partition: 0}] * 2 }
    end

    def guard(rows, *protected_names) = Declaratives::DeletionGuard.new(@cluster = Cluster.new(rows, []), protected_names)

    test "a protected topic" do
      assert_equal({"orders" => "it is protected: remove `protect` from its declaration first"},
        guard({}, "orders").reasons(%w[orders clicks]))
    end

    test "a topic that members of groups read; groups without members aren't asked" do
      found = guard({"shop" => ["Stable", %w[orders]], "audit" => ["PreparingRebalance", %w[orders clicks]],
        "old" => ["Empty", %w[mails]]})

      assert_equal({"orders" => "it is consumed by groups shop, audit: stop these processes first",
        "clicks" => "it is consumed by group audit: stop these processes first"}, found.reasons(%w[orders clicks mails]))
      assert_equal %w[shop audit], @cluster.asked
    end

    test "a group in a rebalance, whose members have no partitions, reads what it has committed" do
      found = guard({"shop" => ["PreparingRebalance", [nil, nil], %w[orders]], "new" => ["Stable", [], %w[clicks]]})

      assert_equal({"orders" => "it is consumed by group shop: stop these processes first"}, found.reasons(%w[orders clicks]))
    end

    test "an open transaction of a group doesn't hide what the group has committed" do
      unstable = KafkaError.build(number: 88, name: "UNSTABLE_OFFSET_COMMIT", message: "no")
      found = guard({"shop" => ["PreparingRebalance", [nil], %w[orders]]})
      @cluster.define_singleton_method(:read_committed_offsets) { |group, stable: false| stable ? raise(unstable) : super(group) }

      assert_equal %w[orders], found.reasons(%w[orders clicks]).keys
    end

    test "a live group that can't be described lets nothing be deleted" do
      refused = KafkaError.build(number: 30, name: "GROUP_AUTHORIZATION_FAILED", message: "no")

      assert_raises(KafkaError) { guard({"shop" => ["Stable", refused]}).reasons(%w[orders]) }
    end

    test "a broker that can't list groups protects nothing; other errors are raised" do
      unsupported = KafkaError.build(number: -165, name: "_UNSUPPORTED_FEATURE", message: "no")
      refused = KafkaError.build(number: 31, name: "CLUSTER_AUTHORIZATION_FAILED", message: "no")

      assert_empty guard(unsupported).reasons(%w[orders])
      assert_raises(KafkaError) { guard(refused).reasons(%w[orders]) }
    end
  end
end
