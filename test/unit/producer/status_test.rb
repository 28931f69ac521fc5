# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/status"

class ProducerStatusTest < Penstock::TestCase
  Status = Penstock::Producer::Status

  test "each status is true for its own name only" do
    assert_predicate Status::CLOSING, :closing?
    refute_predicate Status::CLOSING, :closed?
    assert_equal "connected", Status::CONNECTED.to_s
  end

  test "a configured or connected status accepts messages" do
    active = [Status::INITIAL, Status::CONFIGURED, Status::CONNECTED, Status::CLOSING, Status::CLOSED].select(&:active?)

    assert_equal [Status::CONFIGURED, Status::CONNECTED], active
  end
end
