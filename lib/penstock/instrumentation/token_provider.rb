# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Calls the application's listener for OAuth tokens. If the listener raises, the client is notified that there is no
    # token, because it would otherwise wait forever, and the error is published. Runs on the thread that publishes.
    #
    # That holds for every exception, also a LoadError of a `require` in the listener, since the next call may succeed. An
    # exception that ends the process is raised again.
    #
    # It sees neither a token nor its expiry: the listener passes both to {Native::Bearer}. librdkafka decides when a client
    # asks again.
    class TokenProvider
      # Exceptions that end the process.
      ENDING = [SystemExit, SignalException, NoMemoryError].freeze
      private_constant :ENDING

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
      rescue Exception => error # rubocop:disable Lint/RescueException -- the client waits for an answer, whatever was raised
        event[:bearer].oauthbearer_set_token_failure("#{error.class}: the OAuth token listener raised")
        raise if ENDING.any? { |kind| error.is_a?(kind) }
        @monitor.instrument("error.occurred", {type: "callbacks.oauthbearer_token_refresh.error", error: error, **@context})
      end
    end
  end
end
