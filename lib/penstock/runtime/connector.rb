# frozen_string_literal: true

require_relative "../native"
require_relative "../native/consumer"

module Penstock
  module Runtime
    # Opens the connection of a subscription group: a native consumer that has subscribed. Called on the loop's thread.
    class Connector
      # @param host [Host]
      # @param properties [#call] librdkafka's settings of a group
      def initialize(host, properties)
        @host = host
        @properties = properties
      end

      # @param group [Routing::SubscriptionGroup]
      # @return [Native::Consumer]
      def call(group)
        driver = Native::Consumer.new(@properties.call(group))
        driver.subscribe(group.subscription)
        driver
      rescue
        driver&.close(1_000)
        raise
      end
    end
  end
end
