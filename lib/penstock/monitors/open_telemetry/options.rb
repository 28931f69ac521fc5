# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../nearest"

module Penstock
  module Monitors
    module OpenTelemetry
      # How an application is traced. Frozen values.
      Options = Struct.new(:spans, :parent) do
        const_set(:VALUES, {spans: %i[call message].freeze, parent: [nil, :producer].freeze}.freeze)

        # @param given [Hash{Symbol => Object}]
        # @return [Options]
        # @raise [ConfigurationError] with everything that is wrong
        def self.read(given)
          problems = given.filter_map { |name, value| problem_of(name, value) }
          raise ConfigurationError.new(problems) if problems.any?

          new(given.fetch(:spans, :call), given[:parent]).freeze
        end

        # @return [Problem, nil]
        def self.problem_of(name, value)
          values = self::VALUES[name]
          if values.nil?
            return Problem.new("OpenTelemetry #{name}", "there is no such option",
              Nearest.hint(name, members) || "There are #{members.join(" and ")}")
          end
          return if values.include?(value)

          Problem.new("OpenTelemetry #{name}", "must be #{values.map(&:inspect).join(" or ")}, is #{value.inspect[0, 80]}",
            hint(value, values.compact))
        end

        def self.hint(value, values)
          same = values.find { |known| known.to_s == value.to_s }
          same ? "Write #{same.inspect}" : Nearest.hint(value.to_s, values)
        end
        private_class_method :hint, :problem_of

        # @return [Boolean] whether each record has a span
        def per_message? = spans == :message

        # @return [Boolean] whether the span of a call with one record is a child of the one that produced the record
        def child? = parent == :producer || per_message?

        # @return [String] for an error message
        def to_s = "spans: #{spans.inspect}, parent: #{parent.inspect}"
      end
    end
  end
end
