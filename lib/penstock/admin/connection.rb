# frozen_string_literal: true

require_relative "../clock"
require_relative "../config/kafka_map"
require_relative "../errors"
require_relative "../instrumentation/token_request"
require_relative "../native/admin"
require_relative "../native/embedded_control_client"

module Penstock
  class Admin
    # A client of a cluster, opened by the first request, used by any thread, closed once. Several objects may share it; the one
    # that created it closes it.
    #
    # An admin client doesn't request OAuth tokens by itself: the listener is called when a command finds that there is none yet,
    # or that 80 % of its lifetime have passed.
    class Connection
      # Before a listener that has set no token is called again: it may still set one, on another thread.
      UNANSWERED_MS = 10_000
      private_constant :UNANSWERED_MS

      # @param kafka [Hash] librdkafka's properties
      # @param token_provider [#on_oauthbearer_token_refresh, nil] called when the client is opened, and before its token expires
      def initialize(kafka, token_provider: nil)
        @settings = Config::KafkaMap.strings(kafka, :admin)
        @kafka = kafka
        @token_provider = token_provider
        @lock = Mutex.new
        @token_lock = Mutex.new # not the other one: a close must not wait for the listener
        @next_request_ms = 0
        @closed = false
      end

      # @return [Hash] librdkafka's properties
      attr_reader :kafka
      # @return [#on_oauthbearer_token_refresh, nil]
      attr_reader :token_provider

      # @return [String, nil]
      def servers
        @settings["bootstrap.servers"]
      end

      # @return [Hash{String => String}] the properties that a consumer of this cluster takes
      def consumer_settings
        Config::KafkaMap.strings(@kafka, :consumer)
      end

      # @param limit_ms [Integer] time for the token listener
      # @return [Native::Admin] open, with a token that hasn't expired, if there is a listener
      # @raise [HandleClosedError]
      # @raise [WaitTimeoutError] the token listener took too long
      def native(limit_ms)
        client = @lock.synchronize do
          raise HandleClosedError, "this Penstock::Admin is closed: open a new one" if @closed

          @native ||= Native::Admin.new(@settings)
        end
        request_token(client, limit_ms) if @token_provider
        client
      end

      # @param timeout_ms [Integer] of the request that finds it
      # @return [Native::EmbeddedControlClient, nil] nil for a real cluster
      def embedded(timeout_ms)
        return @embedded if defined?(@embedded)

        @embedded = Native::EmbeddedControlClient.of(native(timeout_ms), timeout_ms)
      end

      # Ends calls that wait in other threads. May be called more than once.
      def close
        native = @lock.synchronize do
          @closed = true
          @native
        end
        native&.close
      end

      private

      # Threads that wait meanwhile for the lock find the new token.
      def request_token(client, limit_ms)
        @token_lock.synchronize do
          return unless token_due?(client)

          bearer = Instrumentation::TokenRequest.call(@token_provider, client, limit_ms)
          @next_request_ms = Clock::SYSTEM.monotonic_ms + UNANSWERED_MS unless bearer.answered?
        end
      end

      def token_due?(client)
        now = Clock::SYSTEM.monotonic_ms
        now >= @next_request_ms && now >= client.token_due_ms
      end
    end
  end
end
