# frozen_string_literal: true

require "test_helper"
require "support/declared_topics"

module Penstock
  # `penstock topics reset` and `delete`: what they refuse, and what is left afterwards.
  class TopicsResetTest < TestCase
    include TestSupport::DeclaredTopics

    def setup
      super
      declare do
        topic(:orders) { partitions 3 }
        topic(:clicks)
        topic(:ledger) { protect }
      end
      @cluster = TestSupport::DeclaredTopics::Cluster.new(%w[orders clicks ledger old].to_h { |name| [name, {partitions: 9}] })
    end

    test "a reset topic is created again as declared; one that was missing is created" do
      @cluster.delete_topic("clicks")
      found = topics("reset", "orders", "clicks", "--yes")

      assert_equal ["deleted orders\ncreated orders\ncreated clicks\n", "", 0], found.to_a
      assert_equal({"orders" => 3, "clicks" => 1}, @cluster.topics.slice("orders", "clicks"))
    end

    test "a topic that isn't declared can't be reset" do
      found = topics("reset", "order", "--yes")

      assert_equal [1, "penstock: topics reset: order isn't declared, so it can't be created again. Did you mean orders?\n"],
        [found.code, found.err]
    end

    test "deleting a protected topic, or one with a live group, is refused, and then nothing is deleted" do
      @cluster.members = {"shop" => %w[clicks]}
      %w[delete reset].each do |command|
        found = topics(command, "orders", "clicks", "ledger", "--yes")

        assert_equal [1, ""], [found.code, found.out]
        assert_equal "clicks: not deleted, it is consumed by group shop: stop these processes first\n" \
                     "ledger: not deleted, it is protected: remove `protect` from its declaration first\n" \
                     "nothing was deleted\n", found.err
      end
      assert_equal 4, @cluster.topics.size
    end

    test "without a confirmation nothing happens" do
      assert_equal [1, 9], [topics("reset", "orders").code, @cluster.topics["orders"]]
      assert_equal [1, 9], [topics("reset", "orders", typed: "no\n").code, @cluster.topics["orders"]]
      assert_equal [0, 3], [topics("reset", "orders", typed: "yes\n").code, @cluster.topics["orders"]]
    end

    test "a topic that was deleted and can't be created is reported with the way out" do
      @cluster.refused = {"orders" => kafka_error(:topic_authorization_failed, "denied")}
      @cluster.topics_by_name.delete("orders")
      found = topics("reset", "orders", "clicks", "--yes")

      assert_equal 1, found.code
      assert_match(/orders: .*denied .*If it is missing now: penstock topics create creates declared topics/, found.err)
      assert_includes found.out, "created clicks"
    end
  end
end
