# frozen_string_literal: true

require "penstock/producer"

module Penstock
  module TestSupport
    # Delivers messages for tests that need no producer of their own.
    module Delivering
      # Returns once all messages are delivered.
      #
      # @param kafka [Hash]
      # @param messages [Array<Hash>]
      def deliver(kafka, messages)
        producer = Penstock::Producer.new { |config| config.kafka = kafka }
        producer.produce_many_sync(messages)
      ensure
        producer&.close
      end
    end
  end
end
