# frozen_string_literal: true

class Order < ApplicationRecord
  has_one :payment
  has_one :receipt

  validates :customer, presence: true
  validates :total, numericality: {only_integer: true, greater_than: 0}

  # Saves the order and, in the same transaction, the message about it. The customer is the message's key.
  #
  # @return [Order] not saved if it isn't valid
  def self.place(attributes)
    new(attributes).tap do |order|
      transaction do
        next unless order.save
        Penstock::Outbox.enqueue(topic: "orders", key: order.customer, payload: order.to_json(only: %i[id customer total]))
      end
    end
  end
end
