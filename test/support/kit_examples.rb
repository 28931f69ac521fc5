# frozen_string_literal: true

require "json"
require "penstock"
require "penstock/testing/kit"
require_relative "test_case"

module Penstock
  module TestSupport
    # An application, and the testing kit of an example of it. Included into test cases, which stand for the example.
    module KitExamples
      # Does with its messages what a test gives it as a block.
      class BlockConsumer < BaseConsumer
        class << self
          attr_accessor :block
        end

        def consume = instance_exec(&self.class.block)
      end

      # Reads another group's copy.
      class OtherConsumer < BaseConsumer
        def consume = nil
      end

      KAFKA = {"bootstrap.servers": "127.0.0.1:1"}.freeze

      # @return [Application] `orders` is read by the group `shop`, `events` by two, `visits` is a pattern
      def penstock_application = @penstock_application ||= application

      def application(routes = ROUTES, **kafka)
        Application.new("kit") do |config|
          config.client_id = config.group_id = "shop"
          config.kafka = {**KAFKA, **kafka}
          config.logger = Logger.new(nil)
        end.tap { |one| one.routing.draw(&routes) }
      end

      ROUTES = proc do
        topic(:orders) { consumer BlockConsumer }
        topic(:events) { consumer BlockConsumer }
        topic(:with_dead_letters) do
          consumer BlockConsumer
          manual_offset_management true
          dead_letter_queue topic: "orders.dead"
        end
        pattern(:visits, /[a-z]+_visits$/) { consumer BlockConsumer }
        consumer_group(:audit) do
          topic(:events) { consumer OtherConsumer }
          topic(:empty) { active false }
        end
      end

      def setup
        super
        @kit = Testing::Kit.new(self).open
      end

      def teardown
        @kit.close
        super
      end

      # @return [Testing::Kit]
      attr_reader :kit

      def producer = penstock_application.producer

      # @return [BaseConsumer] whose `consume` is the block
      def consumer_of(topic = :orders, *rest, **options, &block)
        BlockConsumer.block = block || proc {}
        kit.consumer_for(topic, *rest, **options)
      end
    end
  end
end
