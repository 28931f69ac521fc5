# frozen_string_literal: true

module Penstock
  module Processing
    # Queues records of a lane that were taken and are not admitted to units yet: a worker passes them to the user's filters and
    # partitioner, or they wait until they are due (delay, throttle, a filter's pause). In offset order; the ledger knows them
    # as incomplete.
    #
    # Records that wait here don't hold up records admitted before. Each entry waits for its own reason: a throttle that ends
    # soon doesn't shorten the pause a filter requested for the entries after it. Owned by its lane.
    class Intake
      # Messages with their `keys`, whether user code has seen them, why they wait, and until when.
      Entry = Struct.new(:messages, :keys, :prepared, :reason, :due)

      def initialize
        @entries = []
        clear
      end

      # @return [Integer, false] offset of the first record that a worker is passing to user code
      attr_accessor :preparing

      # @return [Boolean, nil] whether redelivered records must be admitted before those that wait here
      attr_accessor :blocked

      # @return [Integer, nil] where a filter wants to continue, once all admitted records are complete
      attr_accessor :seek_to

      # @return [Symbol, nil] why the first entry waits
      def reason = @reason || first&.reason

      # @return [Integer, nil] monotonic ms at which the wait ends
      def due
        first = @entries.first&.due
        (@due && first) ? [@due, first].max : @due || first
      end

      # @return [Boolean] whether nothing waits here and nothing is being prepared
      def empty? = @entries.empty? && !@preparing && @seek_to.nil? && @due.nil?

      # @return [Boolean] whether records may be taken: those that wait here are admitted first, but after redelivered ones
      def room? = @blocked || empty?

      # @return [Boolean] whether something could be admitted now
      def waiting? = !@preparing && !@blocked && due.nil? && (!@entries.empty? || !@seek_to.nil?)

      # @return [Integer, nil] offset of the first record that wasn't admitted yet
      def first_offset = @preparing || @entries.first&.messages&.first_offset

      # @return [Integer] number of records
      def size = @entries.sum { |entry| entry.messages.size }

      # @param messages [Messages] follow everything that waits
      def push(messages)
        @entries << Entry.new(messages, nil, false) unless messages.empty?
      end

      # @param messages [Messages] come before everything that waits
      # @param hold [Array(Symbol, Integer), nil] why they wait, and until when
      def put_back(messages, keys = nil, prepared: false, hold: nil)
        @entries.unshift(Entry.new(messages, keys, prepared, *hold)) unless messages.empty?
      end

      # @return [Entry, nil] the next entry
      def first = @entries.first

      # @return [Entry, nil] the next entry, removed
      def shift = @entries.shift

      # Admits nothing before that time.
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

      # Drops everything that waits; a worker's later outcome about these records is ignored because of its incarnation.
      def clear
        @entries.clear
        @preparing = @blocked = false
        @seek_to = @due = @reason = nil
      end
    end
  end
end
