# frozen_string_literal: true

require "test_helper"
require "penstock/cli/target"
require "support/commands"

module Penstock
  # `penstock topics delete`: nothing is deleted without a yes.
  class TopicsDeleteTest < TestCase
    include TestSupport::Commands

    # Remembers the requests, and raises what a name is mapped to.
    Admin = Struct.new(:answers, :deleted) do
      def delete_topic(name)
        raise answers[name] if answers[name]
        deleted << name
      end

      def groups = []
      def group_infos(_groups) = {}
    end

    def delete(*argv, typed: nil, **answers)
      @admin = Admin.new(answers.transform_keys(&:to_s), [])
      replacing(CLI::Target, TestSupport::Commands::Target.new(cluster: @admin)) { penstock("topics", "delete", *argv, typed: typed) }
    end

    test "at a terminal only the word yes deletes" do
      assert_equal [0, %w[a b]], delete("a", "b", typed: "yes\n").then { |result| [result.code, @admin.deleted] }
      ["", "y\n", "YES\n", "no\n"].each do |answer|
        assert_equal [1, []], delete("a", typed: answer).then { |result| [result.code, @admin.deleted] }, answer
      end
      assert_includes delete("a", "b", typed: "").out, "Delete a, b and all their messages? Type yes: "
    end

    test "without a terminal nothing is deleted, unless --yes confirms it" do
      refused = delete("a")
      assert_equal [1, []], [refused.code, @admin.deleted]
      assert_includes refused.err, "pass --yes"
      assert_equal ["deleted a\n", "", 0], delete("a", "--yes").to_a
    end

    test "a topic that can't be deleted is reported, the others are deleted, and the exit code is 1" do
      found = delete("a", "b", "c", "--yes", a: kafka_error(:unknown_topic_or_part),
        b: kafka_error(:topic_authorization_failed, "b: denied"))
      assert_equal ["deleted c\n", "a: there is no such topic\nb: denied (topic_authorization_failed)\n", 1], found.to_a
    end
  end
end
