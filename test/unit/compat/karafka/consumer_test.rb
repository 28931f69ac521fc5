# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/base_consumer"

# Methods of Karafka's consumers that don't exist here.
class CompatKarafkaConsumerTest < Penstock::TestCase
  Plain = Class.new(Penstock::BaseConsumer)
  Own = Class.new(Penstock::BaseConsumer) do
    def client = @client ||= :http
  end

  test "client, coordinator and seek_offset are refused with what to use instead" do
    {client: /pause, resume, seek.*Penstock::Admin queries/, coordinator: /attempt and retrying\? \(pause_tracker\)/,
     seek_offset: /seek\(messages.first_offset\) runs the batch again/}.each do |name, way_out|
      error = assert_raises(NoMethodError) { Plain.new.public_send(name) }

      assert_match(/\Aa Penstock consumer \(CompatKarafkaConsumerTest::Plain\) has no #{name}: /, error.message)
      assert_match(way_out, error.message)
      assert_match(/consumer_test/, error.backtrace.first)
    end
  end

  test "a call from within the consumer is refused in the same way" do
    consumer = Class.new(Penstock::BaseConsumer) { def consume = coordinator.pause_tracker.attempt }

    assert_match(/has no coordinator: /, assert_raises(NoMethodError) { consumer.new.consume }.message)
  end

  test "a consumer may define such a method itself" do
    assert_equal :http, Own.new.client
  end

  test "any other method of a consumer is undefined" do
    assert_match(/undefined method .nobody/, assert_raises(NoMethodError) { Plain.new.nobody }.message)
  end
end
