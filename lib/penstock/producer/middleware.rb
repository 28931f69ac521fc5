# frozen_string_literal: true

module Penstock
  class Producer
    # Steps that each message goes through before it is checked and sent: objects with `call(message) -> message`. A step may
    # change the Hash it is given or return another one. Wrappers run around whole calls that produce, outside of the steps.
    #
    # Both are added at boot; the lists are replaced as a whole, so messages may be produced meanwhile.
    class Middleware
      # @return [#call, nil] the wrappers as one, nil without any
      # @api private
      attr_reader :wrapper

      def initialize
        @steps = [].freeze
        @wrappers = [].freeze
        @wrapper = nil
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

      # Adds a wrapper around each call that produces: `call(type, messages) { |messages| … }` yields once, with the messages or
      # others in their place, and returns what the block returns. It must not change the Hashes of the messages, which haven't
      # been checked. An error of the block is the call's. A later wrapper runs inside the earlier ones; one that was added
      # already isn't added again.
      #
      # `type` is `message.produce_async`, `message.produce_sync`, `messages.produce_many_async` or
      # `messages.produce_many_sync` (also for a buffer that is flushed); `messages.buffer` for messages that wait in the buffer,
      # `message.ready` for a dead letter, or a message to a retry topic, that is prepared: the block sends neither.
      #
      # @param wrapper [#call]
      # @return [self]
      # @raise [ArgumentError] it has no `call`
      def around(wrapper)
        unless wrapper.respond_to?(:call)
          raise ArgumentError, "#{wrapper.inspect[0, 80]} can't wrap calls of a producer: it needs a method " \
            "call(type, messages) that yields messages to its block"
        end
        return self if @wrappers.include?(wrapper)

        @wrappers = [*@wrappers, wrapper].freeze
        @wrapper = @wrappers.reduce { |outer, inner| Nested.new(outer, inner) }
        self
      end

      # @return [Boolean] whether there is neither a step nor a wrapper
      def empty?
        @steps.empty? && @wrapper.nil?
      end

      # @param message [Hash]
      # @return [Hash]
      def run(message)
        @steps.each { |step| message = step.call(message) }
        message
      end

      # Two wrappers, one inside the other.
      # @api private
      Nested = Struct.new(:outer, :inner) do
        # @see Middleware#around
        def call(type, messages, &block)
          outer.call(type, messages) { |own| inner.call(type, own, &block) }
        end
      end
      private_constant :Nested

      private

      def add
        @steps = yield(@steps).freeze
        self
      end
    end
  end
end
