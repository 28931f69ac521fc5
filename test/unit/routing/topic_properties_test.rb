# frozen_string_literal: true

require "test_helper"
require "penstock/routing/topic_properties"

module Penstock
  class TopicPropertiesTest < TestCase
    def hint(name) = Routing::TopicProperties.complaints({name => 1}).first&.last

    test "a broker's property is answered with that of a topic, which may have another name" do
      {"log.retention.bytes" => "retention.bytes", "log.retention.hours" => "retention.ms", "log.roll.ms" => "segment.ms",
       "log.cleaner.min.cleanable.ratio" => "min.cleanable.dirty.ratio", "message.max.bytes" => "max.message.bytes",
       "num.partitions" => "partitions", "log.local.retention.ms" => "local.retention.ms"}.each do |broker, topic|
        assert_equal "Use #{topic}", hint(broker), broker
      end
    end

    test "a topic's properties are accepted, and what no list has too, unless it looks like a typing error" do
      ["retention.bytes", :"cleanup.policy", "vendor.tier"].each { |name| assert_nil hint(name), name }
      assert_includes hint("retention.byte"), "retention.bytes"
      assert_includes hint("vendortier"), "dots"
    end
  end
end
