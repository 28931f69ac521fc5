# frozen_string_literal: true

module Penstock
  module Server
    # How a process runs its application: `:standalone` (`penstock server`), `:embedded` in a process of its host, `:supervisor`
    # or `:swarm` (a node of a swarm). Equal to its name as a Symbol or a String, and has a predicate for each. A value.
    class ExecutionMode
      NAMES = %i[standalone embedded supervisor swarm].freeze

      # @param name [Symbol]
      def initialize(name)
        @name = name
        freeze
      end

      # @return [Symbol]
      def to_sym = @name
      # @return [String]
      def to_s = @name.to_s

      # @param other [Symbol, String, ExecutionMode]
      # @return [Boolean]
      def ==(other) = other.respond_to?(:to_sym) && other.to_sym == @name
      alias_method :eql?, :==

      # @return [Integer]
      def hash = @name.hash

      NAMES.each { |name| define_method(:"#{name}?") { @name == name } }

      # @return [String]
      def inspect = @name.inspect
    end
  end
end
