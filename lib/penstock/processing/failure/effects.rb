# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Effect
      # Send a message for a record that failed for good; the record is complete when it was acknowledged, not before. `burial`
      # is a {Failure::Burial}.
      DeadLetter = Struct.new(:burial) do
        def perform(lane, ports) = ports.dead_letter(lane, burial)
      end
    end

    module Failure
      # A letter on its way, with what follows from its acknowledgement: what is settled then, and what waits for it.
      #
      # `unit` is the one that failed, `complete` whether the record is complete then, `commit` whether that is committed at
      # once, `resume_at` (monotonic ms) before which what follows in order doesn't go on. `together`: the record is complete by
      # the same transaction that sends the letter, where the producer has them.
      Burial = Struct.new(:letter, :unit, :complete, :commit, :resume_at, :together, keyword_init: true) do
        # @param lane [Lane]
        # @param now [Integer] monotonic ms
        # @return [Array<Effect>]
        def acknowledged(lane, now)
          completed = complete ? [Effect::CompleteEach.new([letter.record])] : []
          completed << resume(lane, now)
        end

        private

        def resume(lane, now)
          over = resume_at <= now
          return over ? Effect::Release.new(:dead_letter) : Effect::Hold.new(:dead_letter, resume_at) unless lane.rolling?

          over ? Effect::Unpark.new(unit.key) : Effect::Park.new(unit.key, :retry, resume_at)
        end
      end
    end
  end
end
