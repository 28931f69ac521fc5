# frozen_string_literal: true

module Penstock
  class Producer
    # The messages of one flush. However it ends, also when its thread is interrupted, messages that the client hasn't accepted go
    # back to the front of the buffer, in their order. Belongs to the flush's thread.
    class Flush
      # @return [Array<Hash>] run through middleware, not accepted yet when the flush began
      attr_reader :ready

      # @return [Array] filled by the dispatcher: an entry for each of the messages being sent that the client has accepted
      attr_reader :accepted

      # @param buffer [Buffer]
      def initialize(buffer)
        @buffer = buffer
        @ready = @fresh = [].freeze
        @accepted = []
      end

      # Takes everything out of the buffer.
      # @yieldreturn [Object] returned; nil without calling it if there is nothing
      def run
        take
        yield unless @ready.empty? && @fresh.empty?
      ensure
        uninterrupted { put_back }
      end

      # Runs each message through middleware, once.
      # @yieldparam message [Hash]
      # @yieldreturn [Hash]
      # @return [Array<Hash>] all of them
      def prepare
        until @fresh.empty?
          message = yield @fresh.first
          uninterrupted do
            @fresh.shift
            @ready << message
          end
        end
        @ready
      end

      # These are sent now.
      # @param messages [Array<Hash>] from {#ready}, as a wrapper may have changed them
      def sending(messages) = @ready = messages

      # One message after another, as far as the block doesn't raise for it.
      # @yieldparam message [Hash]
      # @yieldparam ready [Boolean] whether it has run through middleware
      # @return [Hash{Hash => Exception}] why the others stay in the buffer, by their identity
      def each_alone
        rest = [[], []]
        errors = {}.compare_by_identity
        [@ready, @fresh].each_with_index do |messages, index|
          until messages.empty?
            error = error_of { yield messages.first, index.zero? }
            uninterrupted { move(messages, rest[index], errors, error) }
          end
        end
        errors
      ensure
        uninterrupted do
          (@ready.empty? ? @fresh : @ready).shift(@accepted.shift(1).size) # interrupted after the client had accepted it
          @ready = rest[0] + @ready
          @fresh = rest[1] + @fresh
        end
      end

      private

      def error_of
        yield
        nil
      rescue StandardError, ScriptError => error
        error
      end

      def move(messages, rest, errors, error)
        @accepted.clear
        message = messages.shift
        return unless error
        rest << message
        errors[message] = error
      end

      def take
        uninterrupted do
          taken = @buffer.take
          @ready = taken.ready.dup
          @fresh = taken.fresh.dup
        end
      end

      def put_back
        left = @ready.drop(@accepted.size)
        @buffer.put_back(left, @fresh) unless left.empty? && @fresh.empty?
      end

      # A message must not be in two places, or in none.
      def uninterrupted(&block) = Thread.handle_interrupt(Object => :never, &block)
    end
  end
end
