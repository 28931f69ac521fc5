# frozen_string_literal: true

module Penstock
  module Processing
    # Records of a lane that were taken and are not let into units yet: a worker asks the user's filters and partitioner about
    # them, or they wait for their time (delay, throttle, a filter's pause). In offset order; the ledger knows them as incomplete.
    #
    # What waits here holds up nothing that was let in before. Each part waits for a reason of its own: a throttle that ends soon
    # doesn't cut the pause a filter wants for what lies behind. Owned by its lane.
    class Intake
      # `keys` beside the messages, whether user code was asked already, why it waits and until when.
      Entry = Struct.new(:messages, :keys, :prepared, :reason, :due)

      def initialize
        @entries = []
        clear
      end

      # @return [Integer, false] offset of the first record about which a worker is asking user code
      attr_accessor :preparing

      # @return [Boolean, nil] whether records come again that go before what waits here
      attr_accessor :blocked

      # @return [Integer, nil] where a filter wants to go on, once all that was let in is done with
      attr_accessor :seek_to

      # @return [Symbol, nil] why it waits
      def reason = @reason || first&.reason

      # @return [Integer, nil] monotonic ms at which it goes on
      def due
        first = @entries.first&.due
        (@due && first) ? [@due, first].max : @due || first
      end

      # @return [Boolean] whether nothing is here and nothing on its way
      def empty? = @entries.empty? && !@preparing && @seek_to.nil? && @due.nil?

      # @return [Boolean] whether records may be taken: what waits here goes in first, but behind what comes again
      def room? = @blocked || empty?

      # @return [Boolean] whether something could be let in now
      def waiting? = !@preparing && !@blocked && due.nil? && (!@entries.empty? || !@seek_to.nil?)

      # @return [Integer, nil] of the first record that wasn't let in yet
      def first_offset = @preparing || @entries.first&.messages&.first_offset

      # @return [Integer] records
      def size = @entries.sum { |entry| entry.messages.size }

      # @param messages [Messages] behind everything that waits
      def push(messages)
        @entries << Entry.new(messages, nil, false) unless messages.empty?
      end

      # @param messages [Messages] before everything that waits
      # @param hold [Array(Symbol, Integer), nil] why they wait, and until when
      def put_back(messages, keys = nil, prepared: false, hold: nil)
        @entries.unshift(Entry.new(messages, keys, prepared, *hold)) unless messages.empty?
      end

      # @return [Entry, nil] what is next
      def first = @entries.first

      # @return [Entry, nil] what is next, taken away
      def shift = @entries.shift

      # Nothing goes in before then.
      # @param reason [Symbol]
      # @param at [Integer] monotonic ms
      def wait(reason, at)
        @reason = reason
        @due = at
      end

      # @param now [Integer] monotonic ms
      def expire(now)
        @due = @reason = nil if @due && @due <= now
        @entries.each { |entry| entry.due = entry.reason = nil if entry.due && entry.due <= now }
      end

      # Nothing that waits counts any more; a worker's answer about older records is known by its incarnation.
      def clear
        @entries.clear
        @preparing = @blocked = false
        @seek_to = @due = @reason = nil
      end
    end
  end
end
