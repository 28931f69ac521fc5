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
      # A request to send a letter, with what follows from its acknowledgement: the record is settled then, and the hold ends.
      #
      # `unit` is the one that failed, `complete` whether the acknowledgement completes the record, `commit` whether that is
      # committed at once. `in_transaction`: the transaction that sends the letter also completes the record, where the producer
      # has transactions.
      LetterRequest = Struct.new(:letter, :unit, :complete, :commit, :in_transaction, keyword_init: true) do
        # @param lane [Lane]
        # @return [Array<Effect>]
        def acknowledged(lane)
          completed = complete ? [Effect::CompleteEach.new([letter.record])] : []
          completed << (lane.by_key? ? Effect::Unpark.new(unit.key) : Effect::Release.new(:dead_letter))
        end
      end
    end
  end
end
