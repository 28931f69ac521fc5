# frozen_string_literal: true

require "test_helper"

class ReceiptJobTest < ActiveSupport::TestCase
  setup { @order = Order.create!(customer: "ada", total: 1200) }

  test "the receipt is mailed to the customer" do
    ReceiptJob.perform_now(@order)
    mail = SentMail.sole

    assert_equal ["ada@customers.example", "Your order #{@order.id}"], [mail.recipient, mail.subject]
    assert_equal "Thank you, ada! We have received $12.00 for your order #{@order.id}.", mail.body.strip
  end

  test "a job that is performed twice sends one mail" do
    2.times { ReceiptJob.perform_now(@order) }

    assert_equal 1, SentMail.count
    assert_equal ["mailed", "mailed before"], JobRun.order(:id).pluck(:outcome)
  end

  test "a job is enqueued with the transaction, or not at all" do
    Order.transaction(requires_new: true) do
      ReceiptJob.perform_later(@order)
      raise ActiveRecord::Rollback
    end
    assert_equal 0, Penstock::Outbox.lag.pending
    ReceiptJob.perform_later(@order)

    assert_equal 1, Penstock::Outbox.lag.pending
  end
end
