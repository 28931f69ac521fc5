# frozen_string_literal: true

class OrdersController < ApplicationController
  skip_forgery_protection if: -> { request.format.json? }

  def create
    order = Order.place(params.require(:order).permit(:customer, :total))
    respond_to do |format|
      format.html { redirect_to root_path, alert: order.errors.full_messages.to_sentence.presence }
      format.json do
        order.persisted? ? render(json: order, status: :created) : render(json: order.errors, status: :unprocessable_content)
      end
    end
  end
end
