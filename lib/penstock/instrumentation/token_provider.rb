# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Asks the application's listener for OAuth tokens. When the listener raises, the client is told that there is no token, as it
    # would wait for an answer for ever, and the error is published. Runs on the thread that publishes.
    class TokenProvider
      # @param listener [#on_oauthbearer_token_refresh]
      # @param monitor [Monitor]
      # @param context [Hash] for the error, as `producer_id`
      def initialize(listener, monitor, context = {})
        @listener = listener
        @monitor = monitor
        @context = context
      end

      # @param event [Event] `event[:bearer]` takes the token
      def on_oauthbearer_token_refresh(event)
        @listener.on_oauthbearer_token_refresh(event)
      rescue => error
        event[:bearer].oauthbearer_set_token_failure("#{error.class}: the listener for tokens raised")
        @monitor.instrument("error.occurred", {type: "callbacks.oauthbearer_token_refresh.error", error: error, **@context})
      end
    end
  end
end
