# frozen_string_literal: true

module Penstock
  module Runtime
    # Holds the state of one letter that is being sent. Owned by {DeadLetters}.
    class PendingLetter
      # How often a letter must be refused for its size, sent alone, before it counts as too large: another application's
      # message may have been part of its batch.
      REFUSALS = 2
      private_constant :REFUSALS

      attr_reader :lane, :request
      # @return [Producer::Delivery::Handle, nil] nil while it isn't sent
      attr_accessor :handle
      # @return [Integer] monotonic ms at which it is looked at again
      attr_accessor :due
      attr_accessor :wait_ms, :failures, :reported_full

      # @param lane [Processing::Lane]
      # @param request [Processing::Failure::LetterRequest]
      # @param now [Integer] monotonic ms
      def initialize(lane, request, now)
        @lane = lane
        @incarnation = lane.incarnation
        @request = request
        @due = now
        @wait_ms = @failures = @refusals = 0
        @reported_full = @alone = @waits = @last_tried = false
      end

      def letter = request.letter

      # @return [Boolean] whether it is one transaction with its record's offset
      def in_transaction?
        request.in_transaction && letter.producer.respond_to?(:transactional?) && letter.producer.transactional?
      end

      # @return [Boolean] whether it still belongs to the lane's present incarnation
      def counts? = lane.owned? && lane.incarnation == @incarnation

      # @return [Boolean] whether it has been offered since its lane began to leave
      attr_writer :last_tried

      # @return [Boolean] whether its lane is about to be revoked or stopped, it has failed before, and not been offered since
      def last_try? = @handle.nil? && @failures.positive? && lane.leaving? && !@last_tried

      # @return [Boolean] whether no other letter may be in flight to its topic at the same time
      def alone? = @alone

      # Called when it is about to be sent. A letter that must be sent alone isn't overtaken for ever by letters that needn't.
      # @param others [Array<PendingLetter>]
      # @return [Boolean] whether it has to wait for another letter
      def check_crowded(others)
        @waits = others.any? { |other| !other.equal?(self) && other.letter.topic == letter.topic && in_way?(other) }
      end

      # It was refused for its size.
      # @return [Boolean] whether the letter itself is too large; otherwise it is to be sent alone
      def count_refusal
        return true if handle.nil? || in_transaction? # refused by the producer, or alone in its transaction
        @refusals += 1 if @alone
        @alone = true
        @refusals >= REFUSALS
      end

      # @param letter [Processing::Failure::Letter] is sent instead
      # @param due [Integer] monotonic ms at which it is sent
      def replace(letter, due)
        @request = request.dup.tap { |changed| changed.letter = letter }
        @handle = nil
        @due = due
        @wait_ms = @failures = @refusals = 0
      end

      protected

      def on_its_way? = !@handle.nil?
      def waits? = @waits && @alone

      private

      def in_way?(other) = @alone ? other.on_its_way? : other.alone? && (other.on_its_way? || other.waits?)
    end
  end
end
