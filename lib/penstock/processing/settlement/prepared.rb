# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Settlement
      # The user's filters and partitioner have looked at records that were taken: some go on, some never run, some are asked
      # about again. An interrupt changes nothing: they are asked about again.
      class Prepared
        def call(outcome, context)
          unit = outcome.unit
          return unless unit.prepare?
          prepared = outcome.advice
          return again(outcome, context) unless prepared
          [Effect::PrepareEnded.new(prepared.rest, prepared.seek_to, prepared.hold), Effect::Drop.new(prepared.dropped),
            *context.assembly.admit(context.lane, prepared.messages, prepared.keys, context.now),
            *prepared.events.map { |event| Effect::Emit.new(*event) }]
        end

        private

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
