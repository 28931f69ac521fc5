# frozen_string_literal: true

module Penstock
  module Processing
    # Keeps a lane's state for reading records again: with manual offsets a consumer may hold records of earlier calls and lose
    # them with an error, so everything that was handed out and isn't marked is redelivered. It knows from where records are read
    # again, and which records were dead-lettered, moved or skipped and must not be redelivered.
    #
    # One per lane, owned by it, on its poll loop; a new incarnation clears it. States: none, or *reading*, from {#begin} until
    # the source has passed the end of what was admitted. (While it is due, the lane has a hold.)
    class Redelivery
      # @return [Integer, nil] where the next take must begin; nil unless records are being read again
      attr_reader :position

      # @return [Integer, nil] from there on records wait for admission
      attr_reader :through

      def initialize
        @given_up = {}
        clear
      end

      # @return [Boolean] whether takes below the ledger's tail are redelivered records
      def reading? = !@position.nil?

      # @return [Boolean] whether some of them haven't come yet, so that the records waiting after them must not be admitted
      def behind? = !@position.nil? && @position < @through

      # @param from [Integer] offset of the first redelivered record
      # @param through [Integer] from there on records wait for admission: they are buffered
      def begin(from, through)
        @position = from
        @through = through
      end

      # @param offset [Integer] below the ledger's tail
      # @return [Boolean] whether the record is one of those to redeliver
      def wanted?(offset) = offset < @through && !@given_up.key?(offset)

      # A take was admitted.
      # @param to [Integer] its end
      # @param tail [Integer] end of the admitted records
      def took(to, tail)
        @position = (to if to < tail) if @position
      end

      # The record was dead-lettered, moved to a retry topic or skipped.
      # @param offset [Integer]
      # @param base [Integer] everything below it is complete
      def give_up(offset, base)
        @given_up.delete_if { |known, _| known < base }
        @given_up[offset] = true
      end

      # @param ledger [Ledger]
      # @return [Integer, nil] the lowest incomplete offset of a record that may be redelivered
      def first_wanted(ledger)
        ledger.incomplete_offsets(@given_up.size + 1).find { |offset| !@given_up.key?(offset) }
      end

      # @return [Boolean] whether the record was dead-lettered, moved or skipped
      def given_up?(offset) = @given_up.key?(offset)

      # Forgets everything.
      def clear
        @given_up.clear
        @position = @through = nil
      end
    end
  end
end
