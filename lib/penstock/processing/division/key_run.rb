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
        attr_accessor :isolate_through

        # @return [Boolean] whether records of it came back since its last unit was cut
        attr_accessor :returned

        # @return [Boolean] whether its records have to wait with bytes of their own
        attr_accessor :detached

        def initialize(key)
          @key = key
          @messages = NONE
          @blocked = 0
          @queued = @busy = @returned = false
          @parked = @isolate_through = nil
        end

        def ready? = !@busy && !@parked && @blocked.zero? && !@messages.empty?

        # @return [Boolean] whether nothing is known of the key any more
        def idle? = @messages.empty? && !@busy && !@parked && @blocked.zero?

        # @param message [KeyedMessage] behind everything at hand
        def add(message)
          @messages.equal?(NONE) ? @messages = [message] : @messages << message
        end

        # @param messages [Array<KeyedMessage>] before everything at hand
        def put_back(messages)
          messages = messages.map(&:detached) if @detached
          @messages = messages + @messages
        end

        # @param max [Integer]
        # @return [Array<KeyedMessage>] what runs next
        def cut(max)
          max = 1 if @isolate_through && isolated?
          return @messages.shift(max) if @messages.size > max
          cut, @messages = @messages, NONE
          cut
        end

        # Forgets what is at hand; what is out stays out.
        def clear
          @messages = NONE
          @parked = nil
          @detached = nil
          @isolate_through = nil
        end

        private

        def isolated?
          return true if @messages.first.offset <= @isolate_through
          @isolate_through = nil
        end
      end
    end
  end
end
