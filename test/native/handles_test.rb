# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/native/admin"
require "penstock/native/consumer"
require "penstock/native/handles"
require "penstock/native/producer"
require "penstock/producer"

module Penstock
  class NativeHandlesTest < TestCase
    NOWHERE = {"bootstrap.servers" => "127.0.0.1:1", "log_level" => "0"}.freeze

    def here(line) = "#{__FILE__}:#{line}"

    test "an open handle is listed with its class and the line that opened it, until it is closed" do
      before = Native::Handles.open
      consumer, line = Native::Consumer.new(NOWHERE.merge("group.id" => "g")), __LINE__
      admin = Native::Admin.new(NOWHERE)
      GC.start # and it stays listed

      assert_equal ["Consumer opened at #{here(line)}", "Admin opened at #{here(line + 1)}"].sort,
        (Native::Handles.open - before).sort
      [consumer, admin].each { |handle| handle.is_a?(Native::Consumer) ? handle.close(1_000) : handle.close }
      assert_equal before, Native::Handles.open
    end

    test "the line is the application's, however deep the handle is opened" do
      producer = Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1", log_level: 0} }
      before = Native::Handles.open
      assert_empty Native::Handles.open - before
      producer.produce_async(topic: "a", payload: "b")
      line = __LINE__ - 1

      assert_equal ["Producer opened at #{here(line)}"], Native::Handles.open - before
    ensure
      producer&.close!(timeout_ms: 100)
    end
  end
end
