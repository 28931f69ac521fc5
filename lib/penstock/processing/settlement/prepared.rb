# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Settlement
      # The user's filters and partitioner have looked at records that were taken: some go on, some never run, some are asked
      # about again. An interrupt changes nothing: they are asked about again.
      class Prepared
        AGAIN_MS = 10
        private_constant :AGAIN_MS

        def call(outcome, context)
          unit = outcome.unit
          return unless unit.prepare?
          prepared = outcome.advice
          return again(outcome, context) unless prepared
          [ended(prepared, context), Effect::Drop.new(prepared.dropped),
            *context.assembly.admit(context.lane, prepared.messages, prepared.keys, context.now),
            *prepared.events.map { |event| Effect::Emit.new(*event) }]
        end

        private

        # With manual offsets the ledger doesn't begin anew where a filter goes on: it would step over what isn't marked yet. What
        # the seek would bring again is at hand, so the filter is asked about that again.
        def ended(prepared, context)
          rest, seek_to = prepared.rest, prepared.seek_to
          again = seek_to && !context.automatic? && !rest.empty? && rest.first_offset <= seek_to
          return Effect::PrepareEnded.new(rest, seek_to, prepared.hold) unless again
          Effect::PrepareEnded.new(rest, nil, prepared.hold || [:filter, context.now + AGAIN_MS])
        end

        # Anything else that got out of user code concerns the process.
        def again(outcome, context)
          ended = Effect::PrepareEnded.new(outcome.unit.messages, nil)
          return [ended] if outcome.error.is_a?(Interrupted)
          [Effect::Hold.new(:critical, nil), ended, Effect::Stop.new(outcome.error)]
        end
      end
    end
  end
end
