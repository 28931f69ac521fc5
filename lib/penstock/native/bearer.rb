# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"

module Penstock
  # The driver: what stands here by name is handed to applications, the rest is Penstock's own.
  module Native
    # What a listener for OAuth tokens gets: the one client that needs a token, and nothing of the client but that. Any thread may
    # answer, at once or later; a client that got no answer asks no second time, so a failure must be told too.
    #
    #     def on_oauthbearer_token_refresh(event)
    #       token = fetch_token
    #       event[:bearer].oauthbearer_set_token(token: token.value, lifetime_ms: token.expires_at_ms, principal_name: "app")
    #     end
    class Bearer
      # @param client [Consumer, Producer, Admin]
      def initialize(client)
        @client = client
        @answered = false
      end

      # Hands the token over; the client logs in with it, and asks again when 80 % of its life is over.
      #
      # @param token [String]
      # @param lifetime_ms [Integer] when it expires, in milliseconds since 1970
      # @param principal_name [String] whom it names
      # @param extensions [Hash{String => String}, nil] SASL extensions (KIP-342)
      # @return [void]
      # @raise [KafkaError] the client refuses it: it has expired, or holds what a token can't
      # @raise [HandleClosedError] the client was closed meanwhile
      def oauthbearer_set_token(token:, lifetime_ms:, principal_name:, extensions: nil)
        @client.oauthbearer_set_token(token: token, lifetime_ms: lifetime_ms, principal_name: principal_name,
          extensions: extensions)
        @answered = true
        nil
      end

      # There is no token now. The client reports it and asks again in ten seconds; one that was closed meanwhile needs none.
      #
      # @param reason [String] for people; it is logged, so it must not hold a secret
      # @return [void]
      def oauthbearer_set_token_failure(reason)
        @client.oauthbearer_set_token_failure(reason)
      rescue HandleClosedError
        nil
      else
        @answered = true
        nil
      end

      # @return [Boolean] whether somebody gave a token, or said that there is none
      def answered? = @answered

      # @return [String]
      def inspect = "#<#{self.class} #{answered? ? "answered" : "waiting"}>"
    end
  end
end
