# frozen_string_literal: true

require "penstock/producer"

module Penstock
  module TestSupport
    # Messages for what a test runs, of which it needs no producer of its own.
    module Delivering
      # Returns once all are delivered.
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
