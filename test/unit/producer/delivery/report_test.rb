# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/delivery/report"

class ProducerDeliveryReportTest < Penstock::TestCase
  def report(number: 0, persisted: :persisted)
    Penstock::Producer::Delivery::Report.new(["a label", number, "orders", 2, 41, 1_700_000_000_000, persisted])
  end

  test "a delivered message has its partition and offset, and no error" do
    assert_equal({topic: "orders", partition: 2, offset: 41, timestamp: 1_700_000_000_000, error: nil, label: "a label",
                  outcome: :delivered}, report.to_h)
    assert_equal "orders", report.topic_name
    assert_predicate report, :delivered?
    assert_predicate report, :frozen?
  end

  test "there are three outcomes: delivered, certainly failed, unknown" do
    assert_equal :failed, report(number: -192, persisted: :not).outcome
    assert_equal :unknown, report(number: -192, persisted: :possibly).outcome
    assert_predicate report(number: -192, persisted: :possibly), :unknown?
    assert_equal :msg_timed_out, report(number: -192, persisted: :not).error.code
    assert_equal(-192, report(number: -192, persisted: :not).error_number)
  end
end
