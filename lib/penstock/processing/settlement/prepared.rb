# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Settlement
      # Settles records that the user's filters and partitioner have seen: some are admitted, some never run, some are passed to
      # them again later. An interrupt changes nothing: all are passed to them again.
      class Prepared
        AGAIN_MS = 10
        private_constant :AGAIN_MS

        def call(outcome, context)
          unit = outcome.unit
          return unless unit.prepare?
          prepared = outcome.callback_results
          return prepare_again(outcome, context) unless prepared
          [ended(prepared, context), Effect::Drop.new(prepared.dropped),
            *context.topic_pipeline.admit(context.lane, prepared.messages, prepared.keys, context.now),
            *prepared.events.map { |event| Effect::Emit.new(*event) }]
        end

        private

        # With manual offsets a filter's seek doesn't reset the ledger, which would skip records that aren't marked yet. Records
        # that the seek would read again are buffered, so the filter gets those again instead.
        def ended(prepared, context)
          rest, seek_to = prepared.rest, prepared.seek_to
          again = seek_to && !context.automatic? && !rest.empty? && rest.first_offset <= seek_to
          return Effect::PrepareEnded.new(rest, seek_to, prepared.hold) unless again
          Effect::PrepareEnded.new(rest, nil, prepared.hold || [:filter, context.now + AGAIN_MS])
        end

        # Any other error that left user code concerns the process.
        def prepare_again(outcome, context)
          ended = Effect::PrepareEnded.new(outcome.unit.messages, nil)
          return [ended] if outcome.error.is_a?(Interrupted)
          [Effect::Hold.new(:critical, nil), ended, Effect::Stop.new(outcome.error)]
        end
      end
    end
  end
end
