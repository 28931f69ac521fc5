# frozen_string_literal: true

require_relative "../config/types"
require_relative "../nearest"

module Penstock
  module Routing
    # One thing a topic can be told in its route: the verb of the DSL, its typed options, what it becomes, and what is
    # checked about it. Routing knows no feature by name: it is handed a list of these, so a new one is a file of its own.
    #
    # A frozen value, made when the file is loaded.
    class Feature
      # An option of a verb. `default` may be a callable, which is given the settings of the application.
      Option = Struct.new(:type, :default) do
        # @return [Object] the default for an application with these settings
        def default_for(settings)
          default.respond_to?(:call) ? default.call(settings) : default
        end
      end

      REQUIRED = Object.new.freeze
      NO_CHECK = ->(_topic, _value, _settings) { [] }
      private_constant :NO_CHECK

      # @return [Symbol] the verb, and the name under which a topic has the value
      attr_reader :verb
      # @return [Array<Symbol>] other verbs for the same
      attr_reader :aliases
      # @return [Hash{Symbol => Option}]
      attr_reader :options
      # @return [Symbol, nil] the option that may be given as a block
      attr_reader :block
      # @return [String] what it does, for docs/configuration.md
      attr_reader :description

      # @param verb [Symbol]
      # @param description [String] a sentence
      # @param options [Hash{Symbol => Option}] what the verb takes; with {REQUIRED} as default it must be given
      # @param positional [Symbol, nil] the option that may be given without its name
      # @param aliases [Array<Symbol>] other verbs
      # @param renamed [Hash{Symbol => Symbol}] other names of options
      # @param splat [Boolean] whether any number of arguments may be given without a name: the option gets them as an Array
      # @param rest [Symbol, nil] the option that takes all keywords that aren't options, as a Hash
      # @param value [Proc] makes the topic's value out of the options
      # @param absent [Object, Proc] the value of topics that don't use the verb; a callable is given the settings
      # @param check [Proc] takes topic, value and settings, answers `[message, hint]` pairs
      # @param repeatable [Boolean] the verb may be said several times: the topic's value is an Array of what each said
      # @param derived [Proc, nil] takes a drawn topic's name and value, answers further topics: name and value of each
      # @param block [Symbol, nil] the option that may be given as a block
      # @param surplus [String, nil] the way out for who gives more arguments
      def initialize(verb, description: "", options: {}, positional: nil, aliases: [], renamed: {}, rest: nil, splat: false,
        value: nil, absent: nil, check: NO_CHECK, repeatable: false, derived: nil, block: nil, surplus: nil)
        @verb = verb
        @description = description
        @options = options.freeze
        @positional = positional
        @aliases = aliases.freeze
        @renamed = renamed.freeze
        @rest = rest
        @splat = splat
        @value = value
        @absent = absent
        @check = check
        @repeatable = repeatable
        @derived = derived
        @block = block
        @surplus = surplus
        freeze
      end

      # @return [Array<Symbol>] every name it answers to
      def verbs
        [@verb, *@aliases]
      end

      # @return [Boolean] whether a topic may say it several times
      def repeatable? = @repeatable

      # Topics that a topic brings with it: its route serves them too.
      # @return [Array<(String, Object)>] name, and value of this feature there
      def derived(name, value)
        @derived ? @derived.call(name, value) : []
      end

      # Types what a route said. Nothing is raised: what doesn't fit is left out and told to the block.
      #
      # @param arguments [Array] positional arguments
      # @param keywords [Hash] keyword arguments
      # @param verb [Symbol] the one that was used
      # @yieldparam message [String] what is wrong
      # @yieldparam hint [String, nil] the way out
      # @return [Hash{Symbol => Object}] typed options
      def read(arguments, keywords, verb = @verb, &report)
        given = named(verb, arguments, keywords, &report)
        given.each_with_object({}) do |(name, value), read|
          coerced = @options.fetch(name).type.coerce(value)
          next read[name] = coerced unless Config::Types.invalid?(coerced)

          yield("#{label(verb, name)} must be #{@options.fetch(name).type}, is #{shown(value)}", nil)
        end
      end

      # @param given [Hash, Array<Hash>, nil] what {#read} answered
      # @return [Boolean] whether it lacks something it can't do without, which was told when it was read
      def broken?(given)
        return given.any? { |one| broken?(one) } if given.is_a?(Array)

        !given.nil? && @options.any? { |name, option| REQUIRED.equal?(option.default) && !given.key?(name) }
      end

      # @param given [Hash, Array<Hash>, nil] what {#read} answered, nil when the verb wasn't used
      # @param settings [Config::Settings]
      # @return [Object] the topic's value
      def build(given, settings)
        return @absent.respond_to?(:call) ? @absent.call(settings) : @absent if given.nil? || broken?(given)
        return given.map { |one| build(one, settings) }.freeze if given.is_a?(Array)

        complete = @options.to_h { |name, option| [name, given.fetch(name) { option.default_for(settings) }] }
        @value ? @value.call(**complete) : complete.freeze
      end

      # @return [Array<(String, String)>] messages and hints about a finished topic
      def check(topic, value, settings)
        @check.call(topic, value, settings)
      end

      private

      # One positional argument stands for the option that may go without its name.
      def named(verb, arguments, keywords, &report)
        given = renamed(verb, keywords, &report)
        if arguments.size > most_arguments
          yield("#{verb} takes #{arity}, not #{arguments.size}", @surplus)
        else
          given[@positional] = merged(given[@positional], @splat ? arguments : arguments.first) unless arguments.empty?
          missing(verb, given, &report)
        end
        given
      end

      def most_arguments
        return Float::INFINITY if @splat
        @positional ? 1 : 0
      end

      def arity
        @positional ? "one argument" : "no argument without a name"
      end

      # `kafka({...}, "x": 1)`: what is written without braces belongs to the same Hash.
      def merged(rest, argument)
        (rest.is_a?(Hash) && argument.is_a?(Hash)) ? argument.merge(rest) : argument
      end

      def renamed(verb, keywords)
        keywords.each_with_object({}) do |(key, value), given|
          name = @renamed.fetch(key, key)
          next given[name] = value if @options.key?(name)
          next (given[@rest] ||= {})[key] = value if @rest

          yield "#{verb} has no option #{key}", Nearest.hint(key, @options.keys + @renamed.keys) || known
        end
      end

      def missing(verb, given)
        @options.each do |name, option|
          next unless REQUIRED.equal?(option.default) && !given.key?(name)

          yield "#{label(verb, name)} is missing", "It must be #{option.type}"
        end
      end

      def known
        @options.empty? ? nil : "It has #{@options.keys.join(", ")}"
      end

      def label(verb, name)
        (name == @positional) ? verb.to_s : "#{verb} #{name}:"
      end

      # A Hash may hold secrets.
      def shown(value)
        value.is_a?(Hash) ? "a Hash" : value.inspect[0, 80]
      end
    end
  end
end
