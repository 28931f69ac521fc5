# frozen_string_literal: true

module Penstock
  module Testing
    class Kit
      # A message that was produced in an example: the Hash that was given to the producer, after its middleware, and each of
      # its values as a method. A value, never changed by the kit.
      class ProducedMessage < Hash
        # Passed along with a message of {Kit#produce}: its consumer, its offset, its own label.
        Input = Struct.new(:consumer, :offset, :label)

        # @return [Integer] where the message would be: its own partition, else 0
        attr_reader :partition
        # @return [Integer] counted from 0 for each topic and partition of the example
        attr_reader :offset
        # @return [Input, nil] for a message that the test itself has produced with {Kit#produce}
        # @api private
        attr_reader :input

        # @param message [Hash]
        # @param partition [Integer]
        # @param offset [Integer]
        # @param input [Input, nil]
        def initialize(message, partition:, offset:, input: nil)
          super()
          update(message)
          @partition = partition
          @offset = offset
          @input = input
        end

        # @!method topic
        #   @return [String]
        # @!method payload
        #   @return [String, nil] its bytes
        # @!method timestamp
        #   @return [Integer, nil] ms since the epoch
        # @!method label
        #   @return [Object, nil]
        %i[topic payload timestamp label].each { |name| define_method(name) { self[name] } }

        # @return [String, nil]; with an argument that of `Hash#key`
        def key(*value) = value.empty? ? self[:key] : super

        # @return [Hash{String => String, Array, nil}]
        def headers = self[:headers] || {}
      end
    end
  end
end
