# frozen_string_literal: true

require_relative "../on_demand"
Penstock.load_constant :Producer

module Penstock
  module Testing
    # Ends a producer's client as a fatal error of the cluster would, to test the application's reaction.
    #
    #     require "penstock/testing/fatal_errors"
    #     Penstock::Testing.inject_fatal_error(producer, 47, "a test")
    #     producer.fatal_error   # => [47, "a test"]
    module FatalErrors
      # @param producer [Producer] idempotent or transactional; it is connected if it isn't
      # @param number [Integer] librdkafka's number of the error: 47 (invalid producer epoch), 64 (fenced leader epoch) …
      # @param reason [String]
      # @return [void]
      def inject_fatal_error(producer, number, reason = "injected by a test")
        producer.client.inject_fatal_error(number, reason)
      end
    end

    extend FatalErrors
  end
end
