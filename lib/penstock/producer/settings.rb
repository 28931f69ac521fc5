# frozen_string_literal: true

require "logger"
require "securerandom"
require_relative "../config/kafka_hash"
require_relative "../config/types"
require_relative "../errors"
require_relative "../on_demand"
require_relative "middleware"
require_relative "properties"
require_relative "unknown_settings"
Penstock.load_constant "Instrumentation::Monitor"

module Penstock
  class Producer
    # The object that `Producer.new { |config| … }` yields: a setter and a getter for every setting. {#finish!} checks all of
    # them at once and freezes it. Durations are Integer milliseconds, sizes bytes.
    class Settings
      include UnknownSettings

      # @api private
      Types = Penstock::Config::Types

      # 0, or long enough to be worth reconnecting.
      #
      # @api private
      class IdleTime
        MIN_MS = 30_000

        def coerce(value)
          value.equal?(0) ? value : Types::Milliseconds.new(min: MIN_MS).coerce(value)
        end

        def to_s
          "0 or #{Types::Milliseconds.new(min: MIN_MS)}"
        end
      end

      # false, or a value of another type.
      #
      # @api private
      OrFalse = Struct.new(:type) do
        def coerce(value)
          (value == false) ? value : type.coerce(value)
        end

        def to_s
          "#{type}, or false"
        end
      end

      # `default` may be a Proc, called for each producer.
      Setting = Struct.new(:name, :type, :default, :description)

      # @api private
      ID = ->(*) { "penstock-#{SecureRandom.hex(3)}" }
      # @api private
      LOGGER = ->(*) { Logger.new($stdout, level: Logger::WARN) }
      # @api private
      MONITOR = ->(*) { Instrumentation::Monitor.new }

      # @api private
      SETTINGS = [
        Setting.new(:id, Types::Name.new, ID, "Name of the producer in events."),
        Setting.new(:kafka, Types::Map.new, {}.freeze, "librdkafka's properties, with Symbols as keys."),
        Setting.new(:logger, Types::Responding.new(:debug, :info, :warn, :error), LOGGER, "Where log lines go."),
        Setting.new(:monitor, Types::Responding.new(:instrument, :subscribe), MONITOR, "Where events go."),
        Setting.new(:max_payload_size, Types::Whole.new(min: 1), 1_000_012,
          "Largest payload in bytes; key and headers aren't counted. Brokers have a limit of their own."),
        Setting.new(:max_wait_timeout, Types::Milliseconds.new, 180_000,
          "Time limit of a synchronous call and of a close."),
        Setting.new(:wait_on_queue_full, Types::Flag.new, true, "Whether producing waits when the queue is full."),
        Setting.new(:wait_backoff_on_queue_full, Types::Milliseconds.new, 100,
          "Longest time between two attempts; an attempt is made as soon as there is room."),
        Setting.new(:wait_timeout_on_queue_full, Types::Milliseconds.new, 10_000,
          "Time after which producing raises if the queue stays full."),
        Setting.new(:instrument_on_wait_queue_full, Types::Flag.new, true,
          "Whether a full queue emits `error.occurred`."),
        Setting.new(:wait_backoff_on_transaction_command, Types::Milliseconds.new, 500,
          "Base of the back-off: a transaction's command is retried after this time multiplied by the attempt's number."),
        Setting.new(:max_attempts_on_transaction_command, Types::Whole.new(min: 1), 5,
          "Most attempts of a transaction's command whose error is retriable."),
        Setting.new(:reload_on_transaction_fatal_error, Types::Flag.new, true,
          "Whether the client is replaced after a fatal error in a transaction."),
        Setting.new(:wait_backoff_on_transaction_fatal_error, Types::Milliseconds.new, 1_000,
          "Wait after the client was replaced."),
        Setting.new(:max_attempts_on_transaction_fatal_error, Types::Whole.new(min: 1), 10,
          "Most replacements of the client without a commit in between."),
        Setting.new(:non_reloadable_errors, Types::Symbols.new, [:fenced].freeze,
          "Codes of fatal errors after which the client is not replaced."),
        Setting.new(:wait_timeout_on_transaction_abort, Types::Milliseconds.new, 5_000,
          "Longest time an abort waits for the first report of its transaction; 0: doesn't wait."),
        Setting.new(:reload_on_idempotent_fatal_error, Types::Flag.new, true,
          "Whether the client of an idempotent producer is replaced after a fatal error."),
        Setting.new(:wait_backoff_on_idempotent_fatal_error, Types::Milliseconds.new, 1_000,
          "Wait after the client was replaced."),
        Setting.new(:max_attempts_on_idempotent_fatal_error, Types::Whole.new(min: 1), 5,
          "Most replacements of the client without a delivery in between."),
        Setting.new(:idle_disconnect_timeout, IdleTime.new, 0,
          "Time without a message after which the producer closes its connections; 0: never."),
        Setting.new(:undelivered, OrFalse.new(Types::Responding.new(:call)), false,
          "Called at close with the messages that could not be delivered."),
        Setting.new(:client_class, OrFalse.new(Types::Responding.new(:new)), false,
          "Class of the object that replaces the client in tests."),
        Setting.new(:deliver, Types::Flag.new, true,
          "false: messages are checked and their events emitted, but nothing is sent."),
        Setting.new(:middleware, Types::Responding.new(:run, :append, :prepend), ->(*) { Middleware.new },
          "Steps that each message goes through before it is checked.")
      ].freeze

      # Provides OAuth tokens: `config.oauth.token_provider_listener = object`.
      OAuth = Struct.new(:token_provider_listener)

      SETTINGS.each { |setting| attr_reader setting.name }
      (SETTINGS.map(&:name) - [:kafka]).each { |name| attr_writer name }

      # @return [Instrumentation::Monitor, nil] its monitor, unless the user has set another one
      def own_monitor
        @monitor if @monitor.equal?(@own_monitor)
      end

      # @return [OAuth]
      attr_reader :oauth

      def initialize
        SETTINGS.each do |setting|
          default = setting.default
          instance_variable_set(:"@#{setting.name}", default.respond_to?(:call) ? default.call : default)
        end
        @own_monitor = @monitor
        @kafka = Penstock::Config::KafkaHash.new
        @oauth = OAuth.new(false)
      end

      # @param hash [Hash{Symbol => Object}] copied: a frozen one may be given, and isn't changed
      def kafka=(hash)
        @kafka = hash.is_a?(Hash) ? Penstock::Config::KafkaHash.from(hash) : hash
      end

      # Checks everything, fills in the defaults and freezes it.
      #
      # @return [self]
      # @raise [ConfigurationError] with everything that is wrong
      def finish!
        problems = SETTINGS.filter_map { |setting| problem_of(setting) } + oauth_problems + unknown_problems
        problems += properties.problems if @kafka.is_a?(Hash)
        raise ConfigurationError, problems unless problems.empty?

        @kafka = properties.with_defaults
        warn_of_timeouts
        @oauth.freeze
        freeze
      end

      # @return [Hash{String => String}] for the driver
      # @param statistics [Boolean] false disables them, because there is no listener
      def native_properties(statistics:)
        native = properties.to_native
        native["statistics.interval.ms"] = "0" unless statistics
        native
      end

      # @return [Boolean]
      def transactional?
        !kafka[:"transactional.id"].nil?
      end

      # @return [Boolean]
      def idempotent?
        transactional? || kafka[:"enable.idempotence"].to_s == "true"
      end

      # @return [Boolean] whether another client may take messages that a client refused after a fatal error
      def revivable?
        reload_on_idempotent_fatal_error && idempotent? && !transactional?
      end

      # @param error [KafkaError]
      # @return [Boolean] whether a client with this fatal error may be replaced. A fenced client would fence the other one
      #   in turn
      def reloadable?(error)
        codes = non_reloadable_errors
        !codes.include?(error.code) && !(error.is_a?(FencedError) && codes.include?(:fenced))
      end

      # @param kafka [Config::KafkaHash] complete, as {#kafka} is
      # @param changeable [Boolean] whether the copy has the given Hash itself, as it is, instead of a frozen copy of it
      # @return [Settings] a frozen copy with other properties
      def with_kafka(kafka, changeable: false)
        dup.tap do |copy|
          copy.instance_variable_set(:@kafka, changeable ? kafka : Penstock::Config::KafkaHash.from(kafka).freeze)
          copy.freeze
        end
      end

      # @return [String] without secrets
      def inspect
        "#<#{self.class} #{SETTINGS.map { |setting| "#{setting.name}=#{value_of(setting).inspect[0, 200]}" }.join(" ")}>"
      end

      private

      def properties
        Properties.new(@kafka)
      end

      def value_of(setting)
        instance_variable_get(:"@#{setting.name}")
      end

      # Stores the converted value, or returns why it isn't valid.
      def problem_of(setting)
        value = value_of(setting)
        typed = setting.type.coerce(value)
        if typed.nil? || Types.invalid?(typed)
          return Problem.new("config.#{setting.name}", "must be #{setting.type}, is #{value.inspect[0, 80]}")
        end

        instance_variable_set(:"@#{setting.name}", typed)
        nil
      end

      def oauth_problems
        listener = @oauth.token_provider_listener
        return [] if !listener || listener.respond_to?(:on_oauthbearer_token_refresh)

        [Problem.new("config.oauth.token_provider_listener", "must have the method on_oauthbearer_token_refresh",
          "or be false")]
      end

      # With a longer message timeout a wait may end before the outcome is known.
      def warn_of_timeouts
        timeout_ms = properties.message_timeout_ms
        return if timeout_ms.positive? && timeout_ms < @max_wait_timeout

        @logger.warn("[#{@id}] message.timeout.ms (#{timeout_ms}) should be below max_wait_timeout " \
          "(#{@max_wait_timeout}): otherwise a wait can end before the outcome is known")
      end
    end
  end
end
