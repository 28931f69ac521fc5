# frozen_string_literal: true

require_relative "../effects/effects"
require_relative "../failure/effects"

module Penstock
  module Processing
    module Settlement
      # Settles a unit of expired records: their letters are sent to the topic of `expire_in`, and the lane, or the key, waits
      # until all of them are acknowledged. Records whose letter couldn't be built go through the same again.
      class Expired
        # Wait before the next try if no letter could be built; each try was reported.
        AGAIN_MS = 5_000
        private_constant :AGAIN_MS

        # @param policy [Failure::Policy]
        def initialize(policy)
          @policy = policy
        end

        def call(outcome, context)
          unit = outcome.unit
          return unless unit.consume? && unit.expired
          letters = outcome.callback_results&.letters || []
          return [context.wait(unit, :retry, context.now + AGAIN_MS), context.requeue(unit)] if letters.empty?

          [context.wait(unit, :dead_letter, nil), *letters.flat_map { |letter| context.give_up(letter.offset) },
            *run_others_again(unit, letters, context), *dead_letters(unit, letters)]
        end

        private

        def run_others_again(unit, letters, context)
          messages = unit.messages
          return [] if letters.size == messages.size

          [context.requeue(unit, messages.slice(letters.size, messages.size - letters.size))]
        end

        def dead_letters(unit, letters)
          pending = Failure::PendingCount.new(letters.size)
          letters.map { |letter| Effect::DeadLetter.new(request(letter, unit, pending)) }
        end

        # Expired records are complete with automatic and with manual offsets.
        def request(letter, unit, pending)
          Failure::LetterRequest.new(letter: letter, unit: unit, complete: true, commit: false, pending: pending,
            in_transaction: @policy.expired_in_transaction?)
        end
      end
    end
  end
end
