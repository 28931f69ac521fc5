# frozen_string_literal: true

# A record of the topic orders that reached the consumer, for the page that shows what happened.
class Event < ApplicationRecord
  # The order was charged; this record had been consumed before; or the relay sent a second record of the order.
  OUTCOMES = %w[charged redelivered duplicate].freeze

  class << self
    def charged(message) = record(message, "charged")

    def not_charged_again(message)
      known = exists?(partition: message.partition, offset: message.offset)
      record(message, known ? "redelivered" : "duplicate")
    end

    private

    def record(message, outcome)
      create!(order_id: message.payload.fetch("id"), topic: message.topic, partition: message.partition,
        offset: message.offset, key: message.key, outcome: outcome, process: Process.pid)
    end
  end
end
