# frozen_string_literal: true

require "test_helper"
require "penstock/declaratives/deletion_guard"

module Penstock
  # Which topics must not be deleted.
  class DeletionGuardTest < TestCase
    # Groups by name: their state, and the topics of their members.
    Cluster = Struct.new(:rows, :asked) do
      def groups
        raise rows if rows.is_a?(Exception)

        rows.map { |group, (state, _topics)| {group: group, state: state} }
      end

      def group_info(group)
        asked << group
        {members: rows.fetch(group).last.map { |topic| {partitions: [[topic, 0], [topic, 1]]} }}
      end
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

    test "a broker that can't list groups protects nothing; other errors are raised" do
      unsupported = KafkaError.build(number: -165, name: "_UNSUPPORTED_FEATURE", message: "no")
      refused = KafkaError.build(number: 31, name: "CLUSTER_AUTHORIZATION_FAILED", message: "no")

      assert_empty guard(unsupported).reasons(%w[orders])
      assert_raises(KafkaError) { guard(refused).reasons(%w[orders]) }
    end
  end
end
