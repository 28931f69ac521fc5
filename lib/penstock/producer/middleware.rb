# frozen_string_literal: true

module Penstock
  class Producer
    # Steps that each message goes through before it is checked and sent: objects with `call(message) -> message`. A step may
    # change the Hash it is given or return another one.
    #
    # Steps are added at boot; the list is replaced as a whole, so messages may be produced meanwhile.
    class Middleware
      def initialize
        @steps = [].freeze
      end

      # @param step [#call] runs after the existing steps
      # @return [self]
      def append(step)
        add { |steps| [*steps, step] }
      end

      # @param step [#call] runs before the existing steps
      # @return [self]
      def prepend(step)
        add { |steps| [step, *steps] }
      end

      # @return [Boolean]
      def empty?
        @steps.empty?
      end

      # @param message [Hash]
      # @return [Hash]
      def run(message)
        @steps.each { |step| message = step.call(message) }
        message
      end

      private

      def add
        @steps = yield(@steps).freeze
        self
      end
    end
  end
end
