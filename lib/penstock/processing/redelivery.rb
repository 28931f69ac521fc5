# frozen_string_literal: true

module Penstock
  module Processing
    # With manual offsets a consumer may hold records of earlier calls and lose them with an error: then everything that was
    # handed out and isn't marked comes again. This is what a lane remembers for that: from where records are read again, and
    # which records were given up and must not come again.
    #
    # One a lane, owned by it, on its poll loop; a new incarnation clears it. States: none, or *reading*, from {#begin} until the
    # source has passed the end of what was admitted. (That it is due is a hold of the lane.)
    class Redelivery
      # @return [Integer, nil] where the next take must begin; nil unless records are being read again
      attr_reader :position

      # @return [Integer, nil] from there on records wait to be let in
      attr_reader :through

      def initialize
        @given_up = {}
        clear
      end

      # @return [Boolean] whether takes below the ledger's tail are records that come again
      def reading? = !@position.nil?

      # @return [Boolean] whether some of them haven't come yet, so that what waits behind them must not go on
      def behind? = !@position.nil? && @position < @through

      # @param from [Integer] offset of the first record that comes again
      # @param through [Integer] from there on records wait to be let in: they are at hand
      def begin(from, through)
        @position = from
        @through = through
      end

      # @param offset [Integer] below the ledger's tail
      # @return [Boolean] whether the record is one of those that come again
      def wanted?(offset) = offset < @through && !@given_up.key?(offset)

      # A take was let in.
      # @param to [Integer] its end
      # @param tail [Integer] the end of what was admitted
      def took(to, tail)
        @position = (to if to < tail) if @position
      end

      # The record is dead-lettered, moved to a retry topic or skipped.
      # @param offset [Integer]
      # @param base [Integer] what lies below it is complete
      def give_up(offset, base)
        @given_up.delete_if { |known, _| known < base }
        @given_up[offset] = true
      end

      # @param ledger [Ledger]
      # @return [Integer, nil] the lowest offset that isn't complete, of a record that wasn't given up
      def first_wanted(ledger)
        ledger.incomplete_offsets(@given_up.size + 1).find { |offset| !@given_up.key?(offset) }
      end

      # @return [Boolean] whether the record was given up
      def given_up?(offset) = @given_up.key?(offset)

      # Nothing of before counts any more.
      def clear
        @given_up.clear
        @position = @through = nil
      end
    end
  end
end
