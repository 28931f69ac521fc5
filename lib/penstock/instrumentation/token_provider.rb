# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Calls the application's listener for OAuth tokens. If the listener raises, the client is notified that there is no
    # token, because it would otherwise wait forever, and the error is published. Runs on the thread that publishes.
    #
    # It sees neither a token nor its expiry: the listener passes both to {Native::Bearer}. librdkafka decides when a client
    # asks again.
    class TokenProvider
      # @param listener [#on_oauthbearer_token_refresh]
      # @param monitor [Monitor]
      # @param context [Hash] keys for the error event, such as `producer_id`
      def initialize(listener, monitor, context = {})
        @listener = listener
        @monitor = monitor
        @context = context
      end

      # @param event [Event] `event[:bearer]` accepts the token
      def on_oauthbearer_token_refresh(event)
        @listener.on_oauthbearer_token_refresh(event)
      rescue => error
        event[:bearer].oauthbearer_set_token_failure("#{error.class}: the OAuth token listener raised")
        @monitor.instrument("error.occurred", {type: "callbacks.oauthbearer_token_refresh.error", error: error, **@context})
      end
    end
  end
end
