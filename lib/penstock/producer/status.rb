# frozen_string_literal: true

module Penstock
  class Producer
    # Where a producer is in its life. Immutable; `producer.status.connected?` and the like.
    #
    # initial → configured (setup) → connected (first use) → closing → closed. A producer that was never used goes from
    # configured to closed.
    class Status
      # In the order in which a producer goes through them.
      NAMES = %w[initial configured connected closing closed].freeze

      # @return [String]
      attr_reader :name

      def initialize(name)
        @name = name
        freeze
      end

      NAMES.each { |name| define_method(:"#{name}?") { @name == name } }

      # @return [Boolean] whether messages are taken
      def active?
        configured? || connected?
      end

      # @return [String] its name
      def to_s
        @name
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{@name}>"
      end

      INITIAL, CONFIGURED, CONNECTED, CLOSING, CLOSED = NAMES.map { |name| new(name) }
    end
  end
end
