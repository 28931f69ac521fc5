# frozen_string_literal: true

require_relative "feature"
require_relative "../errors"

module Penstock
  module Routing
    # A verb of `routes.draw`, of a consumer group or of a subscription group that draws topics, such as `active_job_topic`.
    # Its options are checked like those of a topic's verbs; what it draws is drawn with the verbs of {Dsl}.
    #
    #     Penstock::Routing::Macro.register(Penstock::Routing::Macro.new(:audited_topic, positional: :name,
    #       options: {name: Penstock::Routing::Feature::Option.new(Penstock::Config::Types::Name.new, nil)}) do |level, _, name:|
    #       level.topic(name) { consumer AuditConsumer }
    #     end)
    class Macro
      # Files of macros that are loaded when the verb is first used.
      ON_DEMAND = {
        active_job_topic: "penstock/active_job/macros", active_job_pattern: "penstock/active_job/macros",
        active_job_delays: "penstock/active_job/macros"
      }.freeze
      private_constant :ON_DEMAND

      @registered = {}

      class << self
        # Adds a macro to all routes drawn from now on.
        # @param macro [Macro]
        # @return [Macro]
        # @raise [ConfigurationError] another one has this verb
        def register(macro)
          taken = @registered[macro.verb]
          raise ConfigurationError, "there is already a macro #{macro.verb} of routes" if taken && !taken.equal?(macro)
          @registered[macro.verb] = macro
        end

        # For tests.
        # @param verb [Symbol]
        # @api private
        def unregister(verb) = @registered.delete(verb)

        # @return [Array<Macro>] those that Penstock has
        # @raise [LoadError] a gem that one of them needs is missing
        def core = ON_DEMAND.keys.map { |verb| fetch(verb) }

        # @return [Array<Symbol>] the verbs of all macros
        def verbs = ON_DEMAND.keys | @registered.keys

        # @param verb [Symbol] one of {verbs}
        # @return [Macro]
        # @raise [LoadError] a gem it needs is missing
        def fetch(verb)
          require ON_DEMAND.fetch(verb) unless @registered.key?(verb)
          @registered.fetch(verb)
        end
      end

      # @return [Symbol]
      attr_reader :verb
      # @return [String] a sentence for docs/configuration.md
      attr_reader :description

      # @param verb [Symbol]
      # @param description [String]
      # @param options [Hash{Symbol => Feature::Option}]
      # @param positional [Symbol, nil] the option that may be given without its name
      # @yieldparam level [Dsl::Subscription] where the verb was written: has `topic`, `pattern`, `problem` and `notes`
      # @yieldparam block [Proc, nil] the block that was given to the verb
      # @yieldparam options [Hash{Symbol => Object}] complete, with their types
      def initialize(verb, description: "", options: {}, positional: nil, &draw)
        @verb = verb
        @description = description
        @feature = Feature.new(verb, options: options, positional: positional, description: description)
        @draw = draw
        freeze
      end

      # @return [Hash{Symbol => Feature::Option}]
      def options = @feature.options

      # Draws. Wrong options are reported as problems; a topic without a required option isn't drawn.
      # @param level [Dsl::Subscription]
      # @api private
      def call(level, arguments, keywords, block)
        given = @feature.read(arguments, keywords) { |message, hint| level.problem(message, hint) }
        @draw.call(level, block, **@feature.build(given, nil)) unless @feature.broken?(given)
        nil
      end
    end
  end
end
