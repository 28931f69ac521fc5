# frozen_string_literal: true

# Mails the receipt of an order. Enqueued through the outbox: with the payment, or not at all. A job may be performed twice; the
# second receipt of an order is refused by an index.
class ReceiptJob < ApplicationJob
  queue_as :mailers
  penstock_options enqueue: :outbox

  def perform(order)
    Receipt.transaction do
      Receipt.create!(order: order)
      OrderMailer.receipt(order).deliver_now
      JobRun.record(self, order, "mailed")
    end
  rescue ActiveRecord::RecordNotUnique
    JobRun.record(self, order, "mailed before")
  end
end
