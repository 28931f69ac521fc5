# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/bearer"
require_relative "event"

module Penstock
  module Instrumentation
    # Asks a token listener for the token of one client, for callers that must not wait for ever: the listener is the
    # application's code and may block. It runs on a thread of its own, which is killed when it is too slow.
    #
    # Consumers and producers don't use it: their listener may take as long as it needs.
    module TokenRequest
      class << self
        # @param listener [#on_oauthbearer_token_refresh]
        # @param client [Native::Admin, Native::Consumer]
        # @param limit_ms [Integer]
        # @return [Native::Bearer] whether it is answered: the listener may do that later, on another thread
        # @raise [WaitTimeoutError] the listener took too long
        # @raise [Exception] what the listener raised
        def call(listener, client, limit_ms)
          bearer = Native::Bearer.new(client)
          thread = start(listener, Event.new("oauthbearer.token_refresh", {bearer: bearer}))
          raise WaitTimeoutError, too_slow(listener, limit_ms) unless thread.join(limit_ms / 1000.0)

          bearer
        ensure
          thread&.kill
        end

        private

        def start(listener, event)
          Thread.new { listener.on_oauthbearer_token_refresh(event) }.tap do |thread|
            thread.name = "penstock.token"
            thread.report_on_exception = false # join raises it in the caller
          end
        end

        def too_slow(listener, limit_ms)
          "the token provider (#{listener.class}) gave no answer within #{limit_ms / 1000.0} s: limit the time of the requests " \
            "that its on_oauthbearer_token_refresh makes"
        end
      end
    end
  end
end
