# frozen_string_literal: true

require_relative "../native/producer"
require_relative "delivery/handle"
require_relative "dry_client"
require_relative "reporter"

module Penstock
  class Producer
    # Creates the client that the settings specify: librdkafka's, one that sends nothing, or one that a test has set.
    class ClientFactory
      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
      end

      # @return [Native::Producer, DryClient, Object]
      def call
        return @settings.client_class.new if @settings.client_class

        @settings.deliver ? native_client : DryClient.new
      end

      private

      # Statistics cost CPU at each interval: they are enabled only if a listener is already subscribed.
      def native_client
        statistics = @settings.monitor.subscribed?(Reporter::STATISTICS)
        @settings.own_monitor&.too_late_for(Reporter::STATISTICS, statistics ? nil : no_statistics)
        Native::Producer.new(@settings.native_properties(statistics: statistics), delivery_class: Delivery::Handle,
          max_payload_bytes: @settings.max_payload_size, token_refresh: @settings.oauth.token_provider_listener ? true : false)
      end

      def no_statistics
        "the client of the producer #{@settings.id} was created without statistics because no listener was subscribed to them: " \
          "subscribe to #{Reporter::STATISTICS} before its first message"
      end
    end
  end
end
