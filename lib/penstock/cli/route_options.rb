# frozen_string_literal: true

require_relative "../routing/features"
require_relative "../serialization/deserializers"

module Penstock
  module CLI
    # Lists the options of a topic's route that differ from the defaults, for `penstock routes`. Durations are in ms and
    # secrets of `kafka` are masked. Runs on the main thread.
    class RouteOptions
      # One use of a verb: its options by name; `positional` is the one that is written without its name.
      Use = Struct.new(:verb, :positional, :values) do
        # @return [String] as in the route: `batch min: 100, within: 5000`
        def to_s = [verb, arguments].reject(&:empty?).join(" ")

        # @return [Hash{Symbol => Object}, Object] for JSON
        def to_json_value
          values.key?(:value) ? RouteOptions.plain(values[:value]) : RouteOptions.plain(values)
        end

        private

        def arguments
          return "" if values == {value: true}
          values.map do |name, value|
            shown = RouteOptions.shown(value)
            (name == :value || name == positional) ? shown : "#{RouteOptions.label(name)} #{shown}"
          end.join(", ")
        end
      end

      # Verbs and options that the topic's own line has.
      NOTED = %i[consumer active manual_offset_management assign].freeze
      NOTED_OPTIONS = {parallel: %i[by], dead_letter_queue: %i[topic max_retries strategy]}.freeze
      SCALARS = [String, Symbol, Numeric, true, false, nil].freeze
      # Shown even if they are as by default: the verb is unclear without them.
      ALWAYS = {batch: %i[within], periodic_job: %i[interval], quarantine: %i[max_crashes]}.freeze
      private_constant :NOTED, :NOTED_OPTIONS, :SCALARS, :ALWAYS

      class << self
        # @return [String] as Ruby code, as far as there is any
        def shown(value)
          case value
          when *SCALARS, Range, Regexp then value.inspect
          when Array then "[#{value.map { |one| shown(one) }.join(", ")}]"
          when Hash then "{#{value.map { |name, one| "#{label(name)} #{shown(one)}" }.join(", ")}}"
          else named(value)
          end
        end

        # @return [Object] the same for JSON
        def plain(value)
          case value
          when *SCALARS then value
          when Array then value.map { |one| plain(one) }
          when Hash then value.transform_values { |one| plain(one) }
          else shown(value)
          end
        end

        # @return [String] name of an option or property, before its value
        def label(name)
          return "#{shown(name)} =>" unless name.is_a?(Symbol) || name.is_a?(String)
          /\A\w+\z/.match?(name) ? "#{name}:" : "#{name.to_s.inspect}:"
        end

        private

        def named(value)
          return value.to_s if value.is_a?(Module)
          value.respond_to?(:arity) ? "a callable" : "an object of #{value.class}"
        end
      end

      # @param settings [Config::Settings]
      def initialize(settings)
        @settings = settings
        @features = Routing::Features.core.reject { |feature| NOTED.include?(feature.verb) }
      end

      # @param topic [Routing::Topic]
      # @return [Array<Use>] without those that the topic's own line has; none of a topic that Penstock adds to the routes
      def of(topic)
        return [] if topic.features[:retry_topics]&.delayed? || topic.features[:delay_tier]

        @features.flat_map { |feature| uses(feature, topic.features[feature.verb]) }
      end

      private

      def uses(feature, value)
        return [] if value.nil? || value == feature.build(nil, @settings)
        return value.map { |one| use(feature, one) } if feature.repeatable?

        made = use(feature, value)
        (NOTED_OPTIONS.key?(feature.verb) && made.values.empty?) ? [] : [made]
      end

      def use(feature, value)
        noted, always = [NOTED_OPTIONS, ALWAYS].map { |list| list.fetch(feature.verb, []) }
        options = options(feature, value)&.reject do |name, one|
          noted.include?(name) || one.nil? || (default?(feature.options[name], one) && !always.include?(name))
        end
        Use.new(feature.verb.to_s, feature.positional, options || {value: value})
      end

      # @return [Hash{Symbol => Object}, nil] nil for a verb with a single value
      def options(feature, value)
        case value
        when Routing::OwnKafka then {**value.properties.masked, inherit: value.inherit || nil}
        when Routing::Declaration then {**value.to_h.except(:details), **value.details}
        when Serialization::Deserializers then own_deserializers(value)
        when Struct then value.to_h.slice(*feature.options.keys)
        end
      end

      def own_deserializers(value)
        defaults = Serialization::Deserializers::DEFAULT.to_h
        value.to_h.reject { |part, one| one.instance_of?(defaults.fetch(part).class) }
          .transform_values { |one| one.is_a?(Serialization::Guard) ? one.deserializer : one }
      end

      # A word is a String where it is read, and may be a Symbol in the topic's value.
      def default?(option, value)
        return false unless option
        default = option.default_for(@settings)
        value == default || (value.is_a?(Symbol) && value.to_s == default)
      end
    end
  end
end
