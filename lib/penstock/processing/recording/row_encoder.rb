# frozen_string_literal: true

require_relative "../../consumer/flow"
require_relative "../effects/effects"
require_relative "../failure/callback_results"
require_relative "../failure/effects"

module Penstock
  module Processing
    module Recording
      # Converts effects and requests to rows of plain values, without payloads, keys or error messages. The recorder writes these
      # rows, a replay compares them. Used by all poll loops.
      module RowEncoder
        # Replaces a record's key, so that a recording reveals none.
        HASHED = ->(key) { key.nil? ? nil : key.hash & 0xffff_ffff_ffff }
        PLAIN = ->(key) { key.is_a?(String) ? key.dup.force_encoding(Encoding::UTF_8).scrub : key }

        RANGE = lambda do |messages|
          messages = messages.to_a
          first, last = [messages.first, messages.last].map { |one| one.respond_to?(:offset) ? one.offset : one }
          [first, last, messages.size]
        end
        private_constant :RANGE

        # Values of each effect, at most six.
        VALUES = {
          Effect::Complete => ->(effect, _key) { [effect.offset] },
          Effect::CompleteEach => ->(effect, _key) { RANGE.call(effect.messages) },
          Effect::Drop => ->(effect, _key) { RANGE.call(effect.offsets) },
          Effect::Requeue => ->(effect, key) { [*RANGE.call(effect.messages), key.call(effect.key)] },
          Effect::Redeliver => ->(effect, key) { [*RANGE.call(effect.messages), key.call(effect.key)] },
          Effect::GiveUp => ->(effect, _key) { [effect.offset] },
          Effect::Park => ->(effect, key) { [key.call(effect.key), effect.reason, effect.at] },
          Effect::Unpark => ->(effect, key) { [key.call(effect.key)] },
          Effect::PrepareEnded => ->(effect, _key) { [effect.rest.size, effect.seek_to, *effect.hold] },
          Effect::PutBack => ->(effect, _key) { [effect.messages.size, *effect.hold] },
          Effect::LetIn => ->(effect, _key) { RANGE.call(effect.messages) },
          Effect::Hold => ->(effect, _key) { [effect.reason, effect.at] },
          Effect::Release => ->(effect, _key) { [effect.reason] },
          Effect::Isolate => ->(effect, key) { [effect.through, key.call(effect.key)] },
          Effect::Collapse => ->(effect, _key) { [effect.through] },
          # The row of SeekLater has what was asked for; a replay doesn't know where the log ended then.
          Effect::Seek => ->(effect, _key) { [(effect.target unless effect.cause == :awaited), effect.cause] },
          Effect::SeekLater => ->(effect, _key) { [effect.target, effect.limit] },
          Effect::ReadOffsetAgain => ->(effect, _key) { [effect.place] },
          Effect::Stop => ->(effect, _key) { [effect.error.class.name] },
          Effect::Report => ->(effect, _key) { [effect.number] },
          Effect::Emit => ->(effect, _key) { [effect.event] },
          Effect::DeadLetter => ->(effect, _key) { [effect.request.letter.offset, effect.request.complete] }
        }.freeze
        # Effects that aren't recorded, because they are the default: an outcome without recorded effects has completed its unit,
        # a take without them was admitted.
        IMPLIED = [Effect::Complete, Effect::CompleteEach, Effect::LetIn, Effect::Prepare].freeze
        private_constant :VALUES, :IMPLIED

        # Written by all poll loops without a lock. By identity: a Hash that calls `hash` of its keys may switch threads there.
        @names = {}.compare_by_identity

        class << self
          # @param effects [Array<Effect>]
          # @param key [#call] converts a key to what is recorded
          # @return [Array<Array>] name and values of each effect to record
          def effects(effects, key)
            return [] if effects.all? { |effect| IMPLIED.include?(effect.class) || without_records?(effect) }
            effects.reject { |effect| without_records?(effect) }.map { |effect| effect(effect, key) }
          end

          # @return [Array] name and values
          def effect(effect, key)
            values = VALUES[effect.class]
            [name(effect.class), *(values ? values.call(effect, key) : [])]
          end

          # @return [Boolean] whether the effect isn't recorded if it is the only one
          def implied?(effect) = IMPLIED.include?(effect.class)

          # Results of user code that the worker called.
          # @param results [Object] {Failure::CallbackResults}, or the result of {Admission::Prepare}
          # @return [Array]
          def callback_results(results)
            return [:prepared, results.messages.size, results.dropped.size, results.rest.size] unless results.is_a?(Failure::CallbackResults)
            letter = results.letter
            [:failure, results.offset, results.answer&.first, letter&.kind, letter&.attempt, results.backoff_ms,
              results.unreadable || nil]
          end

          # @param flow [Consumer::Flow, Symbol]
          # @return [Array] name and values
          def flow(flow)
            return [flow] if flow.is_a?(Symbol)
            [name(flow.class), *flow.to_a]
          end

          private

          # An effect on no records.
          def without_records?(effect)
            case effect
            when Effect::Drop then effect.offsets.empty?
            when Effect::PutBack, Effect::LetIn, Effect::Requeue, Effect::CompleteEach then effect.messages.to_a.empty?
            else false
            end
          end

          def name(klass) = @names[klass] ||= klass.name.split("::").last.to_sym
        end
      end
    end
  end
end
