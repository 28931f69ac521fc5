# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/base_consumer"

# What consumers of the incumbent's reach for and find told here instead.
class ConsumerSignpostsTest < Penstock::TestCase
  Plain = Class.new(Penstock::BaseConsumer)
  Own = Class.new(Penstock::BaseConsumer) do
    def client = @client ||= :http
  end

  test "the connection, its coordinator and where it would begin anew are refused with what to use" do
    {client: /pause, resume, seek.*Penstock::Admin asks/, coordinator: /attempt and retrying\? \(pause_tracker\)/,
     seek_offset: /seek\(messages.first_offset\) runs the batch again/}.each do |name, way_out|
      error = assert_raises(NoMethodError) { Plain.new.public_send(name) }

      assert_match(/\Aa Penstock consumer \(ConsumerSignpostsTest::Plain\) has no #{name}: /, error.message)
      assert_match(way_out, error.message)
      assert_match(/signposts_test/, error.backtrace.first)
    end
  end

  test "from within, as a consumer calls it, it is the same" do
    consumer = Class.new(Penstock::BaseConsumer) { def consume = coordinator.pause_tracker.attempt }

    assert_match(/has no coordinator: /, assert_raises(NoMethodError) { consumer.new.consume }.message)
  end

  test "a consumer may have such a method of its own" do
    assert_equal :http, Own.new.client
  end

  test "any other name is undefined as anywhere" do
    assert_match(/undefined method .nobody/, assert_raises(NoMethodError) { Plain.new.nobody }.message)
  end
end
