# frozen_string_literal: true

require_relative "context"

module Penstock
  class Consumer
    # Holds the consumer instances of one lane, each in its {Context}. Where units run one after another there is one
    # instance; where keys run in parallel there are as many as ever ran at once. A unit takes any free instance or, where
    # keys are bound to slots, the instance of its slot.
    #
    # Used by workers; the lock is held for one operation on an Array. Free instances are taken and returned without it: under
    # Ruby's lock such an operation is atomic, and every unit makes two of them.
    class Pool
      # @param bound [Boolean] whether a unit's key names its instance
      # @yieldreturn [Context] creates the context of an instance when it is needed
      def initialize(bound: false, &build)
        @bound = bound
        @build = build
        @lock = Mutex.new
        @all = []
        @free = []
        @by_key = {}
      end

      # @param unit [Processing::Unit, nil] the unit that needs it
      # @return [Context] used by nobody else until {#give_back}
      def take(unit)
        return bound(unit.key) if @bound && unit&.key
        @free.pop || @lock.synchronize { add_locked }
      end

      # @param context [Context]
      def give_back(context)
        @free << context unless @bound
      end

      # @return [Array<Context>] those with a consumer
      def used = @lock.synchronize { @all.select(&:consumer) }

      # For calls that concern all instances, while nothing else of the lane runs.
      # @return [Array<Context>] those with a consumer, or one that is about to get its consumer
      def every
        @lock.synchronize do
          next @all.select(&:consumer) if @all.any?(&:consumer)
          @free << add_locked if @all.empty?
          [@all.first]
        end
      end

      private

      def bound(key)
        @lock.synchronize { @by_key[key] ||= @free.pop || add_locked }
      end

      def add_locked
        context = @build.call
        @all << context
        context
      end
    end
  end
end
