# frozen_string_literal: true

module Penstock
  module Config
    # Which environment this is. Answers `production?` and the like, and equals its name.
    class Environment
      VARIABLES = %w[PENSTOCK_ENV RACK_ENV RAILS_ENV].freeze
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

      # Only the environment named exactly so counts: name yours accordingly.
      def production?
        @name == "production"
      end

      def development?
        @name == "development"
      end

      def test?
        @name == "test"
      end

      def to_s
        @name
      end
      alias_method :to_str, :to_s

      def ==(other)
        @name == other.to_s
      end

      def inspect
        @name.inspect
      end
    end
  end
end
