# frozen_string_literal: true

require "test_helper"
require_relative "../../support/kafka_properties"

class KafkaPropertiesTest < Penstock::TestCase
  Properties = Penstock::TestSupport::KafkaProperties

  test "a further listener is advertised with its protocol" do
    listener = Properties::Listener.new(name: "SECURE", port: 2, protocol: "SASL_SSL")
    properties = Properties.new(port: 1, controller_port: 3, data: "/d", listeners: [listener]).to_h

    assert_equal "PLAINTEXT://127.0.0.1:1,SECURE://127.0.0.1:2,CONTROLLER://127.0.0.1:3", properties["listeners"]
    assert_equal "PLAINTEXT://127.0.0.1:1,SECURE://127.0.0.1:2", properties["advertised.listeners"]
    assert_includes properties["listener.security.protocol.map"], "SECURE:SASL_SSL"
  end

  test "properties that a test sets take precedence" do
    text = Properties.new(port: 1, controller_port: 3, data: "/d", extra: {"num.partitions" => 9}).to_s

    assert_equal ["num.partitions=9"], text.lines(chomp: true).grep(/\Anum.partitions=/)
  end
end
