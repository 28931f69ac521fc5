# frozen_string_literal: true

require "test_helper"
require "penstock/routing/kafka_defaults"

class KafkaDefaultsTest < Penstock::TestCase
  test "every default that Penstock sets for librdkafka has a row, with its value, librdkafka's, and a reason" do
    page = Penstock::Routing::KafkaDefaults.rows.join("\n")
    map = Penstock::Config::KafkaMap
    [map::SHARED, map::CONSUMER, map::CLASSIC_GROUP, map::PRODUCER].reduce(&:merge).each do |name, value|
      next if name.start_with?("client.software") || %w[enable.partition.eof coordinator.query.interval.ms].include?(name)

      assert_match(/^\| `#{Regexp.escape(name)}` \| \w+ \| `#{Regexp.escape(value)}` \| `[^`]+` \| \S/, page)
    end
  end
end
