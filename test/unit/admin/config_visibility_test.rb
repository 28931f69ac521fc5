# frozen_string_literal: true

require "test_helper"
require "penstock/admin"

module Penstock
  class ConfigVisibilityTest < TestCase
    Configs = Admin::Configs

    def visible?(changed, value, source: 1, sensitive: false)
      config = Configs::Config.of(["retention.ms", value, source, [false, false, sensitive, false], []])
      Admin::ConfigVisibility.visible?(Configs::Resource.new(type: :topic, name: "t", configs: [config]), changed)
    end

    def topic = Configs::Resource.new(type: :topic, name: "t")

    test "a value that is set is compared in the form in which brokers write it" do
      {"5" => "5", "0.50" => "0.5", "TRUE" => "true", " a, b" => "a,b", 7 => "7"}.each do |value, described|
        assert visible?(topic.set("retention.ms", value), described), "#{value.inspect} as #{described.inspect}"
      end
      refute visible?(topic.set("retention.ms", 5), "6")
      refute visible?(topic.set("retention.ms", "a"), nil)
    end

    test "a value that is deleted has another source; parts of a list are there, or not" do
      assert_equal [true, false], [5, 1].map { |source| visible?(topic.delete("retention.ms"), "5", source: source) }
      assert_equal [true, false], ["a,b", "a"].map { |value| visible?(topic.append("retention.ms", "b"), value) }
      assert_equal [false, true], ["a,b", "a"].map { |value| visible?(topic.subtract("retention.ms", "b"), value) }
    end

    test "a value that brokers don't show, and a setting that they don't describe, isn't waited for" do
      assert visible?(topic.set("retention.ms", 5), nil, sensitive: true)
      assert visible?(topic.set("other", 5), "1")
    end
  end
end
