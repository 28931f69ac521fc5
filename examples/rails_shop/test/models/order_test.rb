# frozen_string_literal: true

require "test_helper"

class OrderTest < ActiveSupport::TestCase
  test "an order and its message are written together" do
    order = Order.place(customer: "ada", total: 1200)

    assert_predicate order, :persisted?
    assert_equal 1, Penstock::Outbox.lag.pending
  end

  test "an order that is rolled back leaves no message" do
    Order.transaction do
      Order.place(customer: "ada", total: 1200)
      raise ActiveRecord::Rollback
    end

    assert_equal [0, 0], [Order.count, Penstock::Outbox.lag.pending]
  end

  test "an invalid order leaves no message" do
    order = Order.place(customer: "", total: 0)

    assert_equal %i[customer total], order.errors.attribute_names
    assert_equal [0, 0], [Order.count, Penstock::Outbox.lag.pending]
  end
end
