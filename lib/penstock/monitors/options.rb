# frozen_string_literal: true

require_relative "../errors"
require_relative "../nearest"

module Penstock
  module Monitors
    # Checks the options of a monitor, so that all mistakes are reported at once, with the names that exist. Stateless.
    module Options
      # An option: its default, a description of its values, and their check.
      Option = Struct.new(:default, :words, :check)

      module_function

      # @param place [String] for messages, such as `"StatsD"`
      # @param given [Hash{Symbol => Object}]
      # @param known [Hash{Symbol => Option}]
      # @param more [Array<Problem, nil>] found elsewhere
      # @return [Hash{Symbol => Object}] all options
      # @raise [ConfigurationError]
      def checked(place, given, known, more = [])
        problems = given.filter_map { |name, value| problem(place, name, value, known) } + more.compact
        raise ConfigurationError.new(problems) if problems.any?
        known.transform_values(&:default).merge(given)
      end

      # Loads the gem of a monitoring system.
      # @return [void]
      # @raise [ConfigurationError] if it is missing
      def load_gem(place, gem, file = gem)
        require file
      rescue LoadError => error
        raise ConfigurationError.new([Problem.new(place, "the gem #{gem} can't be loaded (#{error.message})",
          "Add `gem \"#{gem}\"` to the Gemfile")])
      end

      def problem(place, name, value, known)
        option = known[name]
        unless option
          return Problem.new(place, "there is no option #{name}", Nearest.hint(name, known.keys) ||
            (known.any? ? "It has #{known.keys.join(", ")}" : "It has none"))
        end
        return if option.check.call(value)
        Problem.new("#{place} #{name}", "must be #{option.words}, is #{value.inspect[0, 80]}")
      end
      private_class_method :problem
    end
  end
end
