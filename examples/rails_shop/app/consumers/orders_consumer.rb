# frozen_string_literal: true

# Charges each order once. A record may be delivered again, after a crash for example: payment, event and job are written in one
# transaction, and the second payment of an order is refused by an index.
class OrdersConsumer < ApplicationConsumer
  def consume
    messages.each { |message| charge(Order.find(message.payload.fetch("id")), message) }
  end

  private

  def charge(order, message)
    Payment.transaction do
      Payment.create!(order: order, amount: order.total)
      Event.charged(message)
      ReceiptJob.perform_later(order)
    end
  rescue ActiveRecord::RecordNotUnique
    Event.not_charged_again(message)
  end
end
