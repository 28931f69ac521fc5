# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # The records of one key that are at hand, in offset order, and why they may not run now: a unit of the key is out, the key
      # is parked (until a time, or until it is released), or a unit of an earlier assignment still runs with it.
      class KeyRun
        # What a key has at hand that has nothing: most keys get no second record before the first is done with.
        NONE = [].freeze
        private_constant :NONE

        attr_reader :key, :messages
        attr_accessor :queued

        # @return [Boolean] whether a unit of it is out
        attr_accessor :busy

        # @return [Symbol, nil] why it is parked
        attr_accessor :parked

        # @return [Integer] units of earlier assignments that still run
        attr_accessor :blocked

        # @return [Integer, nil] up to and including this offset records run one by one
        attr_reader :isolate_through

        # @return [Integer, nil] once the unit that is out has been settled everything unmarked from there on comes again
        attr_accessor :again_from

        # @return [Boolean] whether records of it came back since its last unit was cut
        attr_accessor :returned

        # @return [Boolean] whether its records have to wait with bytes of their own
        attr_accessor :detached

        def initialize(key)
          @key = key
          @messages = NONE
          @blocked = 0
          @queued = @busy = @returned = false
          @parked = @isolate_from = @isolate_through = @again_from = nil
        end

        def ready? = !@busy && !@parked && @blocked.zero? && !@messages.empty?

        # @return [Boolean] whether nothing is known of the key any more
        def idle? = @messages.empty? && !@busy && !@parked && @blocked.zero? && @again_from.nil?

        # @param message [KeyedMessage] behind everything at hand
        def add(message)
          @messages.equal?(NONE) ? @messages = [message] : @messages << message
        end

        # @param messages [Array<KeyedMessage>] before everything at hand
        def put_back(messages)
          messages = messages.map(&:detached) if @detached
          @messages = messages + @messages
        end

        # Records come again, in their order among those at hand.
        # @param messages [Array<KeyedMessage>] none of which is at hand
        def merge(messages)
          messages = messages.map(&:detached) if @detached
          @messages = (messages + @messages).sort_by(&:offset)
        end

        # Records are cut one by one, from one offset (nil: from now on) up to and including another.
        def isolate(through, from = nil)
          lower = [@isolate_from, from].min if @isolate_from && from
          @isolate_from = @isolate_through ? lower : from
          @isolate_through = [@isolate_through, through].compact.max
        end

        # @param max [Integer]
        # @return [Array<KeyedMessage>] what runs next
        def cut(max)
          max = isolated(max) if @isolate_through
          return @messages.shift(max) if @messages.size > max
          cut, @messages = @messages, NONE
          cut
        end

        # Forgets what is at hand; what is out stays out.
        def clear
          @messages = NONE
          @parked = nil
          @detached = nil
          @isolate_from = @isolate_through = @again_from = nil
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
