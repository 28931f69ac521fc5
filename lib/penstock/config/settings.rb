# frozen_string_literal: true

require_relative "default_logger"
require_relative "kafka_hash"
require_relative "schema"
require_relative "../compat/karafka/settings"

module Penstock
  module Config
    # All settings of an application, typed and frozen. Durations are Integer milliseconds, sizes Integer bytes, `kafka` a
    # {KafkaHash} with Symbols as keys. docs/configuration.md lists them with their defaults.
    class Settings
      # Value of `settings.pause`: waits before retries.
      Pause = Struct.new(:timeout, :max_timeout, :with_exponential_backoff) do
        alias_method :exponential, :with_exponential_backoff
      end
      # Value of `settings.oauth`.
      OAuth = Struct.new(:token_provider_listener)
      # Value of `settings.admin`.
      Admin = Struct.new(:kafka, :group_id, :max_wait_time, :max_retries_duration, :retry_backoff, :poll_timeout)

      # Value of `settings.lag_compensation`.
      LagCompensation = Struct.new(:interval, :pause_age)

      # Value of `settings.health`.
      Health = Struct.new(:port, :host)

      # Value of `settings.swarm`.
      Swarm = Struct.new(:nodes, :supervision_interval, :liveness_timeout, :memory_limit, :jobs_limit, :age_limit,
        :restart_backoff, :restart_backoff_max, :mold) do
        # @raise [NoMethodError]
        # @api private
        def node
          raise NoMethodError, Compat::Karafka::Settings.unreadable("swarm.node"), caller
        end
      end

      # @api private
      SECTIONS = {"pause" => Pause, "oauth" => OAuth, "admin" => Admin, "lag_compensation" => LagCompensation,
                  "health" => Health, "swarm" => Swarm}.freeze

      Schema.in_section(nil).each do |setting|
        define_method(setting.name) { @values.fetch(setting.path) } unless setting.name == "logger"
      end
      Schema::FLAT.each { |flat, path| define_method(flat) { @values.fetch(path) } }

      # @return [Pause]
      attr_reader :pause
      # @return [OAuth]
      attr_reader :oauth
      # @return [Admin]
      attr_reader :admin
      # @return [LagCompensation]
      attr_reader :lag_compensation
      # @return [Health]
      attr_reader :health
      # @return [Swarm]
      attr_reader :swarm
      # @return [Integer, nil] number of this node in a swarm
      attr_reader :node
      # @return [Environment]
      attr_reader :environment
      # @return [Array<Problem>] values that were invalid when they were recorded
      attr_reader :problems
      # @return [Array<Proc>] blocks that were given to `config.producer`
      attr_reader :producer_blocks

      # @param values [Hash{String => Object}] typed values by dotted path, complete
      # @param node [Integer, nil]
      # @param default_logger [DefaultLogger] for an application that sets none
      def initialize(values, environment:, problems: [], producer_blocks: [], node: nil, default_logger: DefaultLogger.new)
        @values = values.transform_values { |value| frozen(value) }.freeze
        @environment = environment
        @problems = problems.dup.freeze
        @producer_blocks = producer_blocks.dup.freeze
        @node = node
        @default_logger = default_logger
        @pause, @oauth, @admin, @lag_compensation, @health, @swarm = SECTIONS.map { |name, type| section(name, type) }
        freeze
      end

      # A copy for a node of a swarm: its `client_id` contains the node's number.
      # @param index [Integer]
      # @return [Settings]
      def for_node(index)
        self.class.new(@values.merge("client_id" => "#{@values.fetch("client_id")}-#{index}"), environment: @environment,
          problems: @problems, producer_blocks: @producer_blocks, node: index, default_logger: @default_logger)
      end

      # @return [Logger] the application's, or one for standard output
      def logger = @values.fetch("logger") || @default_logger.get

      # @return [Boolean] whether the application set none
      def default_logger? = @values.fetch("logger").nil?

      # Karafka's internal settings don't exist here.
      # @raise [NoMethodError]
      # @api private
      def internal
        text = Compat::Karafka::Settings.unreadable("internal")
        raise NoMethodError, "#{text}. See docs/coming-from-karafka.md", caller
      end

      # @return [Boolean]
      def production?
        @environment.production?
      end

      # @return [Hash{String => Object}] by dotted path, secrets masked
      def to_h
        @values.transform_values { |value| value.is_a?(KafkaHash) ? value.masked : value }
      end

      # @return [String] without secrets
      def inspect
        "#<#{self.class} #{to_h.map { |path, value| "#{path}=#{value.inspect[0, 200]}" }.join(" ")}>"
      end

      private

      def section(name, type)
        type.new(*type.members.map { |member| @values.fetch("#{name}.#{member}") }).freeze
      end

      def frozen(value)
        value.is_a?(Hash) ? KafkaHash.from(value).freeze : value
      end
    end
  end
end
