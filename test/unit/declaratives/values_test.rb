# frozen_string_literal: true

require "test_helper"
require "penstock/declaratives/values"

module Penstock
  # When two values of a topic property mean the same.
  class DeclarativesValuesTest < TestCase
    Values = Declaratives::Values

    test "texts, numbers and lists are compared by what they mean" do
      assert Values.same?("compression.type", "zstd", "zstd")
      assert Values.same?("min.cleanable.dirty.ratio", "0.5", "0.50")
      assert Values.same?("retention.ms", "604800000", "604800000")
      assert Values.same?("cleanup.policy", "compact,delete", "delete, compact")
      assert Values.same?("preallocate", "false", "FALSE")
    end

    test "different values, and missing ones, differ" do
      refute Values.same?("compression.type", "zstd", "gzip")
      refute Values.same?("retention.ms", "9007199254740993", "9007199254740992")
      refute Values.same?("cleanup.policy", "compact", "compact,delete")
      refute Values.same?("retention.ms", nil, "5")
      refute Values.same?("message.timestamp.type", "CreateTime", "createtime")
    end

    test "-1 is no limit" do
      assert_equal [Float::INFINITY, 5, nil], [Values.limit("-1"), Values.limit("5"), Values.limit("much")]
    end
  end
end
