# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # Holds the buffered records of one key, in offset order, and the reasons they may not run now: a unit of the key is handed
      # out, the key is parked (until a time, or until it is released), or a unit of an earlier assignment still runs with it.
      class KeyRun
        # Shared by keys without buffered records: most keys get no second record before the first is complete.
        NONE = [].freeze
        private_constant :NONE

        attr_reader :key, :messages
        attr_accessor :queued

        # @return [Boolean] whether its first records have run before
        attr_accessor :again

        # @return [Boolean] whether a unit of the key is handed out
        attr_accessor :busy

        # @return [Symbol, nil] why it is parked
        attr_accessor :parked

        # @return [Integer] units of earlier assignments that still run
        attr_accessor :blocked

        # @return [Integer, nil] up to and including this offset records run one by one
        attr_reader :isolate_through

        # @return [Integer, nil] once the unit that is handed out is settled, everything unmarked from this offset on is
        #   redelivered
        attr_accessor :redeliver_from

        # @return [Boolean] whether records of the key came back since its last unit was cut
        attr_accessor :returned

        # @return [Boolean] whether its waiting records must be copied out of their batch
        attr_accessor :detached

        def initialize(key)
          @key = key
          @messages = NONE
          @blocked = 0
          @queued = @again = @busy = @returned = false
          @parked = @isolate_from = @isolate_through = @redeliver_from = nil
        end

        def ready? = !@busy && !@parked && @blocked.zero? && !@messages.empty?

        # @return [Boolean] whether there is no state left for the key
        def idle? = @messages.empty? && !@busy && !@parked && @blocked.zero? && @redeliver_from.nil?

        # @param message [KeyedMessage] follows everything buffered
        def add(message)
          @messages.equal?(NONE) ? @messages = [message] : @messages << message
        end

        # @param messages [Array<KeyedMessage>] come before everything buffered
        def put_back(messages)
          messages = messages.map(&:detached) if @detached
          @messages = messages + @messages
        end

        # Redelivered records are sorted in among the buffered ones.
        # @param messages [Array<KeyedMessage>] none of which is buffered
        def merge(messages)
          messages = messages.map(&:detached) if @detached
          @messages = (messages + @messages).sort_by(&:offset)
        end

        # @yieldparam offset [Integer] of a buffered record
        # @yieldreturn [Boolean] whether it needn't run again
        # @return [Boolean] whether there was such a record
        def leave_out = !@messages.reject! { |message| yield message.offset }.nil?

        # Records are cut one by one, from one offset (nil: from now on) up to and including another.
        def isolate(through, from = nil)
          lower = [@isolate_from, from].min if @isolate_from && from
          @isolate_from = @isolate_through ? lower : from
          @isolate_through = [@isolate_through, through].compact.max
        end

        # @param max [Integer]
        # @return [Array<KeyedMessage>] the records that run next
        def cut(max)
          max = isolated(max) if @isolate_through
          return @messages.shift(max) if @messages.size > max
          cut, @messages = @messages, NONE
          cut
        end

        # Forgets buffered records; a unit that is handed out continues.
        def clear
          @messages = NONE
          @again = false
          @parked = nil
          @detached = nil
          @isolate_from = @isolate_through = @redeliver_from = nil
        end

        private

        # @return [Integer] records that may be cut at once
        def isolated(max)
          before = @isolate_from ? @messages.take_while { |message| message.offset < @isolate_from }.size : 0
          return [before, max].min if before.positive?
          return 1 if @messages.first.offset <= @isolate_through
          @isolate_from = @isolate_through = nil
          max
        end
      end
    end
  end
end
