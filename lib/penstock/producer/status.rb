# frozen_string_literal: true

module Penstock
  class Producer
    # The state of a producer. Immutable; `producer.status.connected?` and similar methods.
    #
    # initial → configured (setup) → connected (first use) → closing → closed. A producer that was never used goes from
    # configured to closed. connected → disconnecting → disconnected when it is idle, and connected again on the next call; if
    # a call arrives in between, disconnecting → connected. connected → configured after a fatal error has ended its client.
    class Status
      # In the order in which a producer goes through them.
      NAMES = %w[initial configured connected disconnecting disconnected closing closed].freeze

      # @return [String]
      attr_reader :name

      def initialize(name)
        @name = name
        freeze
      end

      NAMES.each { |name| define_method(:"#{name}?") { @name == name } }

      # @return [Boolean] whether messages are accepted
      def active?
        configured? || connected? || disconnecting? || disconnected?
      end

      # @return [String] its name
      def to_s
        @name
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{@name}>"
      end

      INITIAL, CONFIGURED, CONNECTED, DISCONNECTING, DISCONNECTED, CLOSING, CLOSED = NAMES.map { |name| new(name) }
    end
  end
end
