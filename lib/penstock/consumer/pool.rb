# frozen_string_literal: true

require_relative "context"

module Penstock
  class Consumer
    # The consumer instances of one lane, each behind its {Context}: one where units run one after another; where keys run side by
    # side as many as ever ran at once, and a unit takes any that is free, or, where keys are bound to slots, that of its slot.
    #
    # Used by workers; the lock is held for one operation on an Array. What is free is taken and given back without: with Ruby's
    # lock held such an operation is whole, and every unit makes two of them.
    class Pool
      # @param bound [Boolean] whether a unit's key names its instance
      # @yieldreturn [Context] for an instance that is made when it is needed
      def initialize(bound: false, &build)
        @bound = bound
        @build = build
        @lock = Mutex.new
        @all = []
        @free = []
        @by_key = {}
      end

      # @param unit [Processing::Unit, nil] what it is for
      # @return [Context] nobody else's until {#give_back}
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

      # For what concerns all instances, while nothing else of the lane runs.
      # @return [Array<Context>] those with a consumer, or one that is to get its own
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
