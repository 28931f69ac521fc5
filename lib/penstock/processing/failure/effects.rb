# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Effect
      # Send a message for a record that failed permanently; the record is complete when the message is acknowledged, not before.
      # `request` is a {Failure::LetterRequest}.
      DeadLetter = Struct.new(:request) do
        def perform(lane, ports) = ports.dead_letter(lane, request)
      end
    end

    module Failure
      # Counts down the letters of one unit.
      PendingCount = Struct.new(:count) do
        # One of them is acknowledged.
        # @return [Boolean] whether it was the last one
        def last? = (self.count -= 1) <= 0
      end

      # A request to send a letter, with what follows from its acknowledgement: the record is settled then, and the hold ends.
      #
      # `unit` is the one that failed, `complete` whether the acknowledgement completes the record, `commit` whether that is
      # committed at once. `in_transaction`: the transaction that sends the letter also completes the record, where the producer
      # has transactions. `pending`: the {PendingCount} of letters of the same unit, if there may be several: the hold ends with
      # the last one.
      LetterRequest = Struct.new(:letter, :unit, :complete, :commit, :in_transaction, :pending, keyword_init: true) do
        # @param lane [Lane]
        # @return [Array<Effect>]
        def acknowledged(lane)
          completed = complete ? [Effect::CompleteEach.new([letter.record])] : []
          return completed unless pending.nil? || pending.last?

          completed << (lane.by_key? ? Effect::Unpark.new(unit.key) : Effect::Release.new(:dead_letter))
        end
      end
    end
  end
end
