# frozen_string_literal: true

require_relative "../config/types"
require_relative "../nearest"

module Penstock
  module Routing
    # An option of a route: the verb of the DSL, its typed options, the value built from them, and its checks. Routing
    # knows no feature by name: it gets a list of these, so a new one is a file of its own.
    #
    # A value with a method `due_within_ms` (Integer or nil) makes each record of its topic wait for the time in the header
    # `penstock_due_at`, but no longer than that.
    #
    # A frozen value, created when the file is loaded.
    class Feature
      # An option of a verb. `default` may be a callable, which is called with the application's settings.
      Option = Struct.new(:type, :default) do
        # @return [Object] the default for an application with these settings
        def default_for(settings)
          default.respond_to?(:call) ? default.call(settings) : default
        end
      end

      REQUIRED = Object.new.freeze
      NO_CHECK = ->(_topic, _value, _settings) { [] }
      private_constant :NO_CHECK

      # @return [Symbol] the verb, and the key of the topic's value
      attr_reader :verb
      # @return [Array<Symbol>] other names of the verb
      attr_reader :aliases
      # @return [Hash{Symbol => Option}]
      attr_reader :options
      # @return [Symbol, nil] the option that may be given without its name
      attr_reader :positional
      # @return [Symbol, nil] the option that may be given as a block
      attr_reader :block
      # @return [String] the text in docs/configuration.md
      attr_reader :description

      # @param verb [Symbol]
      # @param description [String] a sentence
      # @param options [Hash{Symbol => Option}] options of the verb; one with {REQUIRED} as default must be given
      # @param positional [Symbol, nil] the option that may be given without its name
      # @param aliases [Array<Symbol>] other verbs
      # @param renamed [Hash{Symbol => Symbol}] other names of options
      # @param splat [Boolean] whether any number of arguments may be given without a name: the option gets them as an Array
      # @param implied [Hash{Symbol => Hash}] what the use of a certain verb adds to the options of `value`
      # @param rest [Symbol, nil] the option that takes all keywords that aren't options, as a Hash
      # @param value [Proc] builds the topic's value from the options
      # @param absent [Object, Proc] value of topics that don't use the verb; a callable is called with the settings
      # @param check [Proc] called with topic, value and settings, returns `[message, hint]` pairs
      # @param repeatable [Boolean] the verb may be used several times: the topic's value is an Array with one element
      #   per use
      # @param derived [Proc, nil] called with a drawn topic's name and value, returns further topics: name and value of
      #   each
      # @param block [Symbol, nil] the option that may be given as a block
      # @param surplus [String, nil] hint for a call with too many arguments
      def initialize(verb, description: "", options: {}, positional: nil, aliases: [], renamed: {}, implied: {}, rest: nil,
        splat: false, value: nil, absent: nil, check: NO_CHECK, repeatable: false, derived: nil, block: nil, surplus: nil)
        @verb = verb
        @description = description
        @options = options.freeze
        @positional = positional
        @aliases = aliases.freeze
        @renamed = renamed.freeze
        @implied = implied.freeze
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

      # @return [Array<Symbol>] all names of the verb
      def verbs
        [@verb, *@aliases]
      end

      # @return [Boolean] whether a topic may use it several times
      def repeatable? = @repeatable

      # Further topics of a topic, which use the same route.
      # @return [Array<(String, Object)>] name, and value of this feature there
      def derived(name, value)
        @derived ? @derived.call(name, value) : []
      end

      # Checks the types of a route's options. Nothing is raised: invalid options are left out and passed to the block.
      #
      # @param arguments [Array] positional arguments
      # @param keywords [Hash] keyword arguments
      # @param verb [Symbol] the name that was used
      # @yieldparam message [String] what is wrong
      # @yieldparam hint [String, nil] how to fix it
      # @return [Hash{Symbol => Object}] typed options
      def read(arguments, keywords, verb = @verb, &report)
        given = named(verb, arguments, keywords, &report)
        given.each_with_object(@implied.fetch(verb, {}).dup) do |(name, value), read|
          coerced = @options.fetch(name).type.coerce(value)
          next read[name] = coerced unless Config::Types.invalid?(coerced)

          yield("#{label(verb, name)} must be #{@options.fetch(name).type}, is #{shown(value)}", nil)
        end
      end

      # @param given [Hash, Array<Hash>, nil] result of {#read}
      #  @return [Boolean] whether a required option is missing; {#read} has reported it
      def broken?(given)
        return given.any? { |one| broken?(one) } if given.is_a?(Array)

        !given.nil? && @options.any? { |name, option| REQUIRED.equal?(option.default) && !given.key?(name) }
      end

      # @param given [Hash, Array<Hash>, nil] result of {#read}, nil if the verb wasn't used
      # @param settings [Config::Settings]
      # @return [Object] the topic's value
      def build(given, settings)
        return @absent.respond_to?(:call) ? @absent.call(settings) : @absent if given.nil? || broken?(given)
        return given.map { |one| build(one, settings) }.freeze if given.is_a?(Array)

        complete = given.merge(@options.to_h { |name, option| [name, given.fetch(name) { option.default_for(settings) }] })
        @value ? @value.call(**complete) : complete.freeze
      end

      # @return [Array<(String, String)>] messages and hints about a finished topic
      def check(topic, value, settings)
        @check.call(topic, value, settings)
      end

      private

      # A single positional argument is the option that may be given without its name.
      def named(verb, arguments, keywords, &report)
        given = renamed(verb, keywords, &report)
        if arguments.size > most_arguments
          yield("#{verb} takes #{arity}, not #{arguments.size}", @surplus || by_name(verb, arguments))
          given[@positional] = arguments.first if @positional # so that it isn't reported as missing, too
        else
          given[@positional] = merged(given[@positional], @splat ? arguments : arguments.first) unless arguments.empty?
          missing(verb, given, &report)
        end
        given
      end

      # @return [String, nil] the call as it was probably meant, with the name of the only option that could have the value
      def by_name(verb, arguments)
        return if @positional || @options.empty?
        value = (arguments.size == 1) ? arguments.first : arguments
        fitting = @options.reject { |_name, option| Config::Types.invalid?(option.type.coerce(value)) }.keys
        (fitting.size == 1) ? "Write #{verb} #{fitting.first}: #{value.inspect[0, 80]}" : known
      end

      def most_arguments
        return Float::INFINITY if @splat
        @positional ? 1 : 0
      end

      def arity
        @positional ? "one argument" : "no argument without a name"
      end

      # `kafka({...}, "x": 1)`: keywords without braces belong to the same Hash.
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
        @options.empty? ? nil : "Available: #{@options.keys.join(", ")}"
      end

      def label(verb, name)
        (name == @positional) ? verb.to_s : "#{verb} #{name}:"
      end

      # A Hash may contain secrets.
      def shown(value)
        value.is_a?(Hash) ? "a Hash" : value.inspect[0, 80]
      end
    end
  end
end
