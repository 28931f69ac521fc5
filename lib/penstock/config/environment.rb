# frozen_string_literal: true

module Penstock
  # Records, types and checks the settings of `setup`.
  module Config
    # The environment of the application. Answers `production?` and the like, and equals its name.
    class Environment
      # Environment variables with the name; the first that is set counts.
      VARIABLES = %w[PENSTOCK_ENV RACK_ENV RAILS_ENV].freeze
      # Used if none of them is set.
      DEFAULT = "development"

      # @return [String]
      attr_reader :name

      # @param variables [#[]] environment variables
      # @return [Environment] by the first of PENSTOCK_ENV, RACK_ENV, RAILS_ENV that is set
      def self.detect(variables = ENV)
        name = VARIABLES.map { |variable| variables[variable] }.find { |value| value && !value.empty? }
        new(name || DEFAULT)
      end

      def initialize(name)
        @name = name.to_s.dup.freeze
        freeze
      end

      # True only for exactly this name: name your environment accordingly.
      def production?
        @name == "production"
      end

      def development?
        @name == "development"
      end

      def test?
        @name == "test"
      end

      # Other names can be queried in the same way: `staging?`.
      def method_missing(name, *arguments)
        return super unless arguments.empty? && respond_to_missing?(name)

        @name == name.to_s.delete_suffix("?")
      end

      # @api private
      def respond_to_missing?(name, _all = false) = name.match?(/\A[a-z]\w*\?\z/)

      # @return [String] the name
      def to_s
        @name
      end
      alias_method :to_str, :to_s

      # Compares names, so it can be compared with a String.
      def ==(other)
        @name == other.to_s
      end

      def inspect
        @name.inspect
      end
    end
  end
end
