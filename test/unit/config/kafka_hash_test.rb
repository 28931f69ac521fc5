# frozen_string_literal: true

require "test_helper"
require "penstock/config/kafka_hash"

class KafkaHashTest < Penstock::TestCase
  KafkaHash = Penstock::Config::KafkaHash

  def hash = KafkaHash.from("sasl.password" => "hunter2", "client.id" => "a")

  test "it prints no secret, and gives its value" do
    refute_match(/hunter2/, hash.inspect + hash.to_s)
    assert_equal "hunter2", hash["sasl.password"]
  end

  test "a part of it prints no secret either, and has the contents that a Hash's part has" do
    plain = {**hash}
    [[:select], [:filter], [:reject, false], [:compact]].each do |name, kept = true|
      assert_hidden plain, hash.public_send(name) { |_name, _value| kept }
    end
    assert_hidden plain, hash.slice("sasl.password", "client.id"), hash.except("none"), hash.transform_values(&:itself),
      hash.transform_keys("none" => "other"), hash.merge("client.id" => "a")
    assert_equal [:"sasl.password", :"client.id"], hash.transform_keys(&:to_sym).keys
    assert_kind_of Enumerator, hash.select
  end

  private

  def assert_hidden(expected, *parts)
    parts.each do |part|
      assert_equal expected, part
      assert_equal({"sasl.password" => "[hidden]", "client.id" => "a"}.inspect, part.inspect)
    end
  end
end
