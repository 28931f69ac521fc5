# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # Wraps a filter and checks it: what it deletes, and that its requests are possible. Behaves like the filter it
    # wraps.
    #
    # Used by the filter's user: one thread at a time, which is part of the contract.
    class Filter
      ACTIONS = %i[skip pause seek].freeze
      METHODS = %i[apply! applied? action timeout cursor].freeze
      private_constant :ACTIONS, :METHODS

      # @param filter [#apply!, #applied?, #action, #timeout, #cursor]
      # @raise [Violation] a method is missing
      def initialize(filter)
        @filter = filter
        @given = []
        @busy = false
        missing = METHODS.reject { |name| filter.respond_to?(name) }
        wrong("has no #{missing.join(", ")}", "inherit from Penstock::Filter") unless missing.empty?
      end

      # @param messages [Array<Message>] changed in place
      # @raise [Violation]
      def apply!(messages)
        wrong("was called by two threads at once", "create one object per partition") if @busy
        @busy = true
        @given = messages.dup
        @filter.apply!(messages)
        deleted_only(messages)
        asks_for_what_can_be_done(messages.size < @given.size)
      ensure
        @busy = false
      end

      # @return [Boolean]
      # @raise [Violation] it is neither true nor false
      def applied?
        answer = @filter.applied?
        return answer if answer == true || answer == false
        wrong("returns #{answer.inspect[0, 40]} from applied?", "return true or false")
      end

      # @return [Symbol]
      # @raise [Violation] there is no such action
      def action
        action = @filter.action
        return action if ACTIONS.include?(action)
        wrong("returns #{action.inspect[0, 40]} from action", "return one of #{ACTIONS.map(&:inspect).join(", ")}")
      end

      # @return [Integer, nil] ms
      # @raise [Violation] it is something else
      def timeout
        timeout = @filter.timeout
        return timeout if timeout.nil? || (timeout.is_a?(Integer) && !timeout.negative?)
        wrong("returns #{timeout.inspect[0, 40]} from timeout", "return ms, an Integer of at least 0, or nil")
      end

      # @return [Message, nil]
      def cursor = @filter.cursor

      private

      def deleted_only(messages)
        left = {}.compare_by_identity
        messages.each { |message| left[message] = true }
        kept = @given.select { |message| left.key?(message) }
        return if kept.size == messages.size && kept.each_with_index.all? { |message, index| message.equal?(messages[index]) }
        wrong("added, duplicated or moved messages in apply!", "only delete, as with delete_if")
      end

      def asks_for_what_can_be_done(deleted)
        return unless applied?
        timeout
        case action
        when :pause then pause_at(cursor, deleted)
        when :seek then cursor || wrong("seeks without a cursor", "set @cursor to the message to continue at")
        end
      end

      # Without a cursor, deleted messages are lost.
      def pause_at(cursor, deleted)
        if cursor.nil?
          wrong("pauses without a cursor: what it deleted is dropped", "set @cursor to the first message that waits") if deleted
        elsif @given.none? { |message| message.offset == cursor.offset }
          wrong("pauses at a message it wasn't given (offset #{cursor.offset})", "set @cursor in each apply!")
        end
      end

      def wrong(what, way_out) = raise(Violation, "#{@filter.class} #{what}: #{way_out}")
    end

    # Wraps a filter factory and checks it: one object per call, and each filter too.
    class FilterFactory
      # @param factory [#call] takes topic and partition
      def initialize(factory)
        @factory = factory
        @made = {}.compare_by_identity
      end

      # @param topic [Routing::Topic]
      # @param partition [Integer]
      # @return [Filter]
      # @raise [Violation]
      def call(topic, partition)
        filter = @factory.call(topic, partition)
        raise Violation, "the factory made the same #{filter.class} twice: create one per partition" if @made.key?(filter)
        @made[filter] = true
        Filter.new(filter)
      end
    end
  end
end
