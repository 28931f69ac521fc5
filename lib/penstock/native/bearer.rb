# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"

module Penstock
  # The driver: classes that this file defines are handed to applications, all others are internal.
  module Native
    # Sets an OAuth token, with its expiry, on the one client that needs it. The listener gets this object instead of the
    # client. Any thread may answer, at once or later. A client that got no answer doesn't ask again, so report a failure too.
    #
    #     def on_oauthbearer_token_refresh(event)
    #       token = fetch_token
    #       event[:bearer].oauthbearer_set_token(token: token.value, lifetime_ms: token.expires_at_ms, principal_name: "app")
    #     end
    class Bearer
      # Times from 2001 to 2286 in seconds, which in milliseconds are early in 1970.
      SECONDS = (1_000_000_000..10_000_000_000)
      private_constant :SECONDS

      # @param client [Consumer, Producer, Admin]
      def initialize(client)
        @client = client
        @answered = false
      end

      # Sets the token; the client logs in with it, and asks again after 80 % of the token's lifetime.
      #
      # @param token [String]
      # @param lifetime_ms [Integer] when it expires, in milliseconds since 1970
      # @param principal_name [String] the principal that the token names
      # @param extensions [Hash{String => String}, nil] SASL extensions (KIP-342)
      # @return [void]
      # @raise [TypeError, ArgumentError] an argument can't be used; the message names it
      # @raise [KafkaError] the client refuses the token: it has expired, or contains something that a token can't
      # @raise [HandleClosedError] the client was closed meanwhile
      def oauthbearer_set_token(token:, lifetime_ms:, principal_name:, extensions: nil)
        check_text(:token, token)
        check_text(:principal_name, principal_name)
        check_lifetime(lifetime_ms)
        @client.oauthbearer_set_token(token: token, lifetime_ms: lifetime_ms, principal_name: principal_name,
          extensions: extensions)
        @answered = true
        nil
      end

      # Reports that there is no token now. The client logs this and asks again in ten seconds; a client that was closed
      # meanwhile needs none.
      #
      # @param reason [String] text for people; it is logged, so it must not contain a secret
      # @return [void]
      # @raise [TypeError, ArgumentError] it is no String, or has a zero byte
      def oauthbearer_set_token_failure(reason)
        check_text(:reason, reason)
        @client.oauthbearer_set_token_failure(reason)
      rescue HandleClosedError
        nil
      else
        @answered = true
        nil
      end

      # @return [Boolean] whether the listener set a token, or reported that there is none
      def answered? = @answered

      # @return [String]
      def inspect = "#<#{self.class} #{answered? ? "answered" : "waiting"}>"

      private

      # No message contains the value: it may be a secret.
      def check_text(name, value)
        raise TypeError, "#{name}: takes a String, not #{name_of(value)}" unless value.respond_to?(:to_str)
        raise ArgumentError, "#{name}: contains a zero byte" if value.to_str.b.include?("\0")
      end

      def check_lifetime(value)
        unit = "takes milliseconds since 1970"
        raise TypeError, "lifetime_ms: #{unit}, not a Time: write (time.to_f * 1000).to_i" if value.is_a?(Time)
        raise TypeError, "lifetime_ms: #{unit}, an Integer, not #{name_of(value)}" unless value.is_a?(Numeric)
        raise ArgumentError, "lifetime_ms: #{unit}, #{value} looks like seconds: multiply it by 1000" if SECONDS.cover?(value)
      end

      def name_of(value) = value.nil? ? "nil" : value.class
    end
  end
end
