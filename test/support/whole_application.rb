# frozen_string_literal: true

require "logger"
require "penstock/testing/kit"

module Penstock
  module TestSupport
    # Runs applications with the testing kit, on the in-memory Kafka.
    module WholeApplication
      # Raises for every record.
      class Failing < BaseConsumer
        def consume = each { |message| raise "record #{message.offset}" }
      end

      # Does nothing with its records.
      class Noting < BaseConsumer
        def consume = nil
      end

      # @param pause [Integer] ms of every back-off
      # @return [Application]
      def application(kafka: {}, pause: 10, **settings, &routes)
        made = Application.new("test") do |config|
          config.kafka = {"bootstrap.servers": "nowhere:9092", **kafka}
          config.client_id = config.group_id = "shop"
          config.pause.timeout = config.pause.max_timeout = pause
          config.logger = Logger.new(nil)
          settings.each { |name, value| config.public_send(:"#{name}=", value) }
        end
        made.routing.draw(&routes)
        made
      end

      # @param consumer [Class] of the only topic, `orders`
      # @yield the route's other options
      # @return [Application]
      def orders(consumer, **settings, &options)
        application(**settings) do
          topic(:orders) do
            consumer consumer
            instance_exec(&options) if options
          end
        end
      end

      # Yields the kit of an example that tests the application.
      # @yieldparam kit [Testing::Kit]
      def whole(application)
        example = Object.new
        example.define_singleton_method(:penstock_application) { application }
        kit = Testing::Kit.new(example).open
        yield kit
      ensure
        kit&.close
      end
    end
  end
end
