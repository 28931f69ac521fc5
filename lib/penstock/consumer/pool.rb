# frozen_string_literal: true

require_relative "context"

module Penstock
  class Consumer
    # The consumer instances of one lane, each behind its {Context}: one where units run one after another; where keys run side by
    # side as many as ever ran at once, and a unit takes any that is free, or, where keys are bound to slots, that of its slot.
    #
    # Used by workers; the lock is held for one operation on an Array.
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
        @lock.synchronize do
          next @by_key[unit.key] ||= @free.pop || add_locked if @bound && unit&.key
          @free.pop || add_locked
        end
      end

      # @param context [Context]
      def give_back(context)
        @lock.synchronize { @free << context } unless @bound
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

      def add_locked
        context = @build.call
        @all << context
        context
      end
    end
  end
end
