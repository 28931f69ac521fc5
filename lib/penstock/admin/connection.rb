# frozen_string_literal: true

require_relative "../config/kafka_map"
require_relative "../errors"
require_relative "../instrumentation/event"
require_relative "../native/admin"
require_relative "../native/bearer"
require_relative "../native/embedded_control_client"

module Penstock
  class Admin
    # A client of a cluster, opened by the first request, used by any thread, closed once. Several objects may share it; the one
    # that created it closes it.
    class Connection
      # @param kafka [Hash] librdkafka's properties
      # @param token_provider [#on_oauthbearer_token_refresh, nil] called once, when the client is opened
      def initialize(kafka, token_provider: nil)
        @settings = Config::KafkaMap.strings(kafka, :admin)
        @kafka = kafka
        @token_provider = token_provider
        @lock = Mutex.new
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

      # @return [Native::Admin] open
      # @raise [HandleClosedError]
      def native
        @lock.synchronize do
          raise HandleClosedError, "this Penstock::Admin is closed: open a new one" if @closed

          @native ||= Native::Admin.new(@settings).tap { |native| ask_for_token(native) }
        end
      end

      # @param timeout_ms [Integer] of the request that finds it
      # @return [Native::EmbeddedControlClient, nil] nil for a real cluster
      def embedded(timeout_ms)
        return @embedded if defined?(@embedded)

        @embedded = Native::EmbeddedControlClient.of(native, timeout_ms)
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

      def ask_for_token(native)
        return unless @token_provider

        event = Instrumentation::Event.new("oauthbearer.token_refresh", {bearer: Native::Bearer.new(native)})
        @token_provider.on_oauthbearer_token_refresh(event)
      end
    end
  end
end
