# frozen_string_literal: true

require "pathname"
require_relative "compat/karafka/constants"
require_relative "compat/karafka/framework"
require_relative "errors"
require_relative "on_demand"
require_relative "version"

# Ruby code on Kafka records: many threads and many processes, in order where order matters, with nothing lost.
# Start with {Penstock::App} (an application), {Penstock::BaseConsumer} (its consumers) and {Penstock.producer}.
module Penstock
  extend Compat::Karafka::Constants::Hints
  extend Compat::Karafka::Framework

  # Namespaces of parts that are loaded later.
  module Instrumentation; extend Compat::Karafka::Constants::Hints; end
  module Processing; extend Compat::Karafka::Constants::Hints; end
  module Swarm; extend Compat::Karafka::Constants::Hints; end

  @apps = {}

  class << self
    # Admin calls on the class go to the cluster of the application, asked for when they are made. Called by {Admin} when it is
    # loaded, since parts of the gem load it too.
    # @api private
    def introduce(admin)
      admin.kafka = -> { Config::KafkaMap.admin(app.config) if app } # otherwise its error names Admin.open, too
      admin.options = -> { Config::KafkaMap.admin_options(application.config) }
      admin.routed = ->(active) { application.routes.topic_names(active: active) }
      admin.deserializers = method(:deserializers)
      admin.member = lambda do |id|
        group = application.routes.subscription_group_of(id)
        group && [Config::KafkaMap.consumer(application.config, group), group.subscription]
      end
    end

    # The same for {Iterator}, which works without an application too.
    # @api private
    def introduce_iterator(iterator)
      iterator.surroundings = lambda do
        next unless app

        {kafka: {"client.id": app.config.client_id, **app.config.kafka}, deserializers: method(:deserializers),
         token_provider: app.config.oauth.token_provider_listener}
      end
    end

    # Loads all of it, but for these: before a fork it is loaded once for all children.
    # @param except [Array<Symbol>]
    # @api private
    def load_on_demand(except: []) = (ON_DEMAND.keys - except).each { |name| const_get(name) }

    # @return [Application, nil] the application of the process, nil before one was defined
    # @raise [ConfigurationError] when several are defined and none is set to `default false`
    def app
      ambiguous if @apps.size > 1
      @apps.keys.first&.application
    end

    # @return [Producer] the application's producer; connects on first use
    # @raise [ConfigurationError] when no application is defined
    def producer = application.producer

    # @return [Instrumentation::Monitor]
    def monitor = application.monitor

    # @return [Logger]
    def logger = application.logger

    # @return [Config::Environment] by PENSTOCK_ENV, RACK_ENV or RAILS_ENV; answers `production?` and the like
    def env
      require "penstock/config/environment"
      Config::Environment.detect
    end

    # @return [Pathname] folder of the application: PENSTOCK_ROOT_DIR, that of the Gemfile in use, or the current one
    def root
      require "penstock/config/root"
      Config::Root.find
    end

    # @return [Pathname] folder of the gem
    def gem_root = Pathname.new(File.expand_path("../..", __dir__))

    # @api private
    def register_app(subclass, place) = @apps[subclass] = place

    # @api private
    def forget_app(subclass) = @apps.delete(subclass)

    private

    # @return [Serialization::Deserializers, nil] of the route of a topic, or of topics without a route
    def deserializers(topic) = app && (app.routes.find(topic) || app.routes.default_topic).deserializers

    def application
      app || raise(ConfigurationError.new([Problem.new(nil, "no application is defined",
        "Write `class PenstockApp < Penstock::App`, or load your boot file first")]))
    end

    def ambiguous
      places = @apps.map { |subclass, place| "#{subclass} (#{place&.path}:#{place&.lineno})" }
      raise ConfigurationError.new([Problem.new(nil, "there are #{@apps.size} applications: #{places.join(", ")}",
        "Write `default false` in all but one of them")])
    end
  end

  # A command may have loaded them before.
  introduce(Admin) unless autoload?(:Admin)
  introduce_iterator(Iterator) unless autoload?(:Iterator)
end
