# frozen_string_literal: true

module Penstock
  module Processing
    # Compares where the source begins with the committed offset of the lane: two requests were made for it, librdkafka's and
    # ours, and either answer may have been damaged on the way. A source that begins too late would look as if the log
    # had a gap there, and the records in between would be lost. One per lane, on its poll loop.
    #
    # States: unconfirmed → (sought: the source was moved back to the committed offset) → confirmed. See
    # docs/internals/processing.md.
    class StartCheck
      # @return [Boolean] whether the lane begins at the end where its offset is deleted
      attr_writer :to_end

      def initialize
        @confirmed = @to_end = false
        @sought = @place = nil
      end

      # @return [Boolean] whether the lane's offset can be trusted
      def confirmed? = @confirmed

      # @return [Integer, nil] where the source began, if the committed offset had to be read again because of it
      attr_reader :place

      # Nothing is committed, or the user has chosen the place.
      def confirm = @confirmed = true

      # Judges a result of the source.
      # @param place [Integer] where it begins: the offset of its first record; the log's end if it has none
      # @param expected [Integer, nil] the committed offset
      # @param low [Integer, nil] the partition's known low watermark
      # @return [Symbol] :accept; :seek: move the source to {#target}; :ask: read the committed offset again
      def judge(place, expected, low)
        return :accept if @confirmed
        verdict = verdict(place, expected, low)
        case verdict
        when :accept then confirm
        when :seek then @sought = place
        when :ask then @place = place
        end
        verdict
      end

      # @return [Integer] where the source should have begun
      def target(expected, low) = deleted?(expected, low) ? low : expected

      private

      def verdict(place, expected, low)
        return :accept if expected.nil?
        return (place >= @sought) ? :accept : :ask if @sought
        return :ask if place < expected
        return :accept if place == target(expected, low)
        (@to_end && deleted?(expected, low)) ? :accept : :seek
      end

      def deleted?(expected, low) = !low.nil? && low > expected
    end
  end
end
