# frozen_string_literal: true

require_relative "compat/karafka/application"
require_relative "on_demand"
Penstock.load_constant :Application, "Instrumentation::ProctitleListener"

module Penstock
  # Base class for applications written as a class; every subclass has one {Application}.
  #
  #     class PenstockApp < Penstock::App
  #       setup { |config| config.client_id = "shop"; config.kafka = { "bootstrap.servers": "127.0.0.1:9092" } }
  #       routes.draw { topic(:orders) { consumer OrdersConsumer } }
  #     end
  #
  # The first subclass is {Penstock.app}; a second one must declare `default false`, otherwise booting raises an error that
  # shows both places. Calls on `Penstock::App` itself go to {Penstock.app}, so that code needn't know the application's class.
  class App
    class << self
      # @return [Application]
      # @raise [ConfigurationError] on `Penstock::App` itself, when no application is defined
      def application = equal?(App) ? the_application : (@application ||= Application.new(name || "anonymous application"))

      # @see Application#setup
      def setup(&) = application.setup(&)

      # @return [Routing::Builder] `routes.draw { … }`
      def routes = application.routing

      # @return [Declaratives::Builder] `declaratives.draw { … }`
      def declaratives = application.declaratives

      # @return [Array<Routing::ConsumerGroup>]
      def consumer_groups = application.routes.consumer_groups
      alias_method :groups, :consumer_groups

      # @return [Hash{Routing::ConsumerGroup => Array<Routing::SubscriptionGroup>}] groups with something to subscribe to
      def subscription_groups = consumer_groups.to_h { |group| [group, group.subscription_groups] }

      # @return [Config::Environment] has `production?` and the like
      def env = application.config.environment

      # @see Penstock.root
      def root = Penstock.root

      # @param value [Boolean] false: this application isn't {Penstock.app}
      def default(value)
        Penstock.forget_app(self) unless value
      end

      %i[config producer delays monitor logger run! swarm! quiet! stop! restart! dump! controllable! vitals done? debug!
        middleware snapshot lifecycle health nodes node scale workers execution_mode assignments generations
        generation metrics].each do |name|
        # @see Application
        define_method(name) { |*args, **options, &block| application.public_send(name, *args, **options, &block) }
      end

      # @!method running?
      #   @return [Boolean] whether the process is in this state, one of {Server::Lifecycle::STATES}; each has its method
      Server::Lifecycle::STATES.each { |state| define_method(:"#{state}?") { application.public_send(:"#{state}?") } }

      # @api private
      def inherited(subclass)
        super
        Penstock.register_app(subclass, caller_locations(1, 1).first)
      end

      private

      def the_application
        Penstock.app || raise(ConfigurationError.new([Problem.new(nil, "no application is defined: Penstock::App isn't one",
          "Write `class PenstockApp < Penstock::App`, or load your boot file first")]))
      end

      def method_missing(name, *)
        text = Compat::Karafka::Application.message(name) || outside_of_routes(name) or return super
        raise NoMethodError, text, caller
      end

      def outside_of_routes(name)
        return unless %i[topic pattern consumer_group subscription_group].include?(name)

        "#{name} belongs in the block of routes.draw: routes.draw { #{name} … }"
      end

      # Methods that only raise an error don't count as existing.
      def respond_to_missing?(name, all = false) = super
    end
  end

  Server.application = -> { Penstock.app }
  Instrumentation::LoggerListener.default = -> { Penstock.app&.logger }
  Instrumentation::ProctitleListener.default = -> { Penstock.app&.config&.client_id }
end
