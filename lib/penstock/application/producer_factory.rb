# frozen_string_literal: true

require "logger"
require_relative "../config/kafka_map"
require_relative "../errors"
require_relative "../on_demand"

module Penstock
  class Application
    # Creates producers with the application's settings. Owned by the application; any thread.
    class ProducerFactory
      # @param config [#call] returns {Config::Settings}
      # @param logger [#call] returns the application's logger
      # @param monitor [#call] returns {Instrumentation::Monitor}
      # @param debug [#call] returns properties to add for debugging, or nil
      # @param extensions [#metrics, #producer_wrappers] the application's
      def initialize(config:, logger:, monitor:, debug:, extensions:)
        @config = config
        @logger = logger
        @monitor = monitor
        @debug = debug
        @extensions = extensions
      end

      # @param errors_reported [Boolean] whether the application's monitor and metrics already listen to its monitor
      # @yieldparam own [Producer::Settings] takes precedence over the application's settings
      # @return [Producer]
      # @raise [ConfigurationError]
      def build(errors_reported: false, &last)
        # Loads the producer here, not at boot: it is a tenth of the framework, and many applications only consume.
        producer = naming_the_place { Producer.new { |own| set_up(own, &last) } }
        wrap(producer)
        listen_to(producer.monitor) unless errors_reported
        producer
      end

      # Adds what wraps calls of the application's producers to one that the application was given.
      # @param producer [Producer, Object] an object of another class stays as it is
      # @return [Producer, Object] the same
      def wrap(producer)
        middleware = producer.middleware if producer.respond_to?(:middleware)
        @extensions.producer_wrappers.apply(middleware) if middleware.respond_to?(:around)
        producer
      end

      # Without creating a producer, which a fork would inherit.
      # @return [Producer::Settings] complete
      # @raise [ConfigurationError]
      def settings
        naming_the_place do
          own = Producer::Settings.new
          set_up(own)
          own.logger = ::Logger.new(nil) # its warnings are logged when a producer is created
          own.finish!
        end
      end

      private

      def set_up(own, &last)
        config = @config.call
        own.kafka = as_written(Config::KafkaMap.producer(config), config.kafka).merge(@debug.call.to_h.transform_keys(&:to_sym))
        own.logger = @logger.call
        own.oauth.token_provider_listener = config.oauth.token_provider_listener || false
        [*config.producer_blocks, *last].each { |block| block.call(own) }
      end

      # Blocks read values that were written as numbers or booleans as such: the text "false" would be true.
      def as_written(properties, written)
        properties.to_h { |name, value| [name.to_sym, (written[name.to_sym].to_s == value) ? written[name.to_sym] : value] }
      end

      # A block given to `config.producer` calls its settings `config` too; they aren't the application's.
      def naming_the_place
        yield
      rescue ConfigurationError => error
        raise ConfigurationError, (error.problems.map do |problem|
          Problem.new("config.producer, #{problem.path.to_s.delete_prefix("config.")}", problem.message, problem.hint)
        end)
      end

      # Its other events stay on its own monitor, like those of every producer; the metrics count them there.
      def listen_to(monitor)
        monitor.subscribe("error.occurred") { |event| @monitor.call.instrument("error.occurred", event.payload) }
        @extensions.metrics.subscribe_to_producer(monitor)
      end
    end
  end
end
