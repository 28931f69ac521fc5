# frozen_string_literal: true

class OrderMailer < ActionMailer::Base
  default from: "shop@shop.example"

  def receipt(order)
    @order = order
    mail(to: "#{order.customer}@customers.example", subject: "Your order #{order.id}",
      message_id: "<receipt-#{order.id}@shop.example>")
  end
end
