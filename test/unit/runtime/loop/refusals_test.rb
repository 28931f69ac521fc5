# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/refusals"

module Penstock
  class RefusalsTest < TestCase
    test "a missing right is a refusal, also where it is fatal: it is reported as an error of the client" do
      %i[group_authorization_failed topic_authorization_failed].each do |code|
        [KafkaError, FatalError].each do |error|
          assert_includes Runtime::Refusals, error.new("no", code: code)
          assert_equal "librdkafka.error", Runtime::Refusals.type_of(error.new("no", code: code))
        end
      end
    end

    test "other errors that end a connection are errors of the loop" do
      [KafkaError.new("no", code: :unknown_member_id), RuntimeError.new("no")].each do |error|
        refute_includes Runtime::Refusals, error
        assert_equal "connection.listener.fetch_loop.error", Runtime::Refusals.type_of(error)
      end
    end
  end
end
