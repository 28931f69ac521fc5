# frozen_string_literal: true

require_relative "application"

module Penstock
  # Sugar for applications written as a class; every subclass has one {Application}.
  #
  #     class PenstockApp < Penstock::App
  #       setup { |config| config.client_id = "shop"; config.kafka = { "bootstrap.servers": "127.0.0.1:9092" } }
  #       routes.draw { topic(:orders) { consumer OrdersConsumer } }
  #     end
  #
  # The first subclass is {Penstock.app}; a second one says `default false`, or boot names both places.
  class App
    class << self
      # @return [Application]
      def application = @application ||= Application.new(name || "anonymous application")

      # @see Application#setup
      def setup(&) = application.setup(&)

      # @return [Routing::Builder] `routes.draw { … }`
      def routes = application.routing

      # @param value [Boolean] false: this application isn't {Penstock.app}
      def default(value)
        Penstock.forget_app(self) unless value
      end

      %i[config producer monitor logger run! swarm! quiet! stop! restart! dump! controllable! vitals done? debug! middleware
        snapshot lifecycle health nodes node scale assignments generations generation].each do |name|
        # @see Application
        define_method(name) { |*args, **options, &block| application.public_send(name, *args, **options, &block) }
      end

      # @api private
      def inherited(subclass)
        super
        Penstock.register_app(subclass, caller_locations(1, 1).first)
      end
    end
  end
end
