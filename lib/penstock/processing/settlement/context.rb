# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Settlement
      # Gives deciders access to everything besides the outcome: the lane, the time (monotonic ms) and the topic's policy. Only
      # this class knows whether a wait concerns the whole lane or one key of it.
      Context = Struct.new(:lane, :now, :backoff, :critical_errors, :topic_pipeline, keyword_init: true) do
        # @return [Boolean] whether the outcome belongs to the lane's current incarnation
        def current?(unit) = unit.incarnation == lane.incarnation

        def automatic? = !lane.topic.manual_offset_management?
        def owned? = lane.owned?

        # Incomplete records of the unit, after the marks were read.
        # @return [Messages]
        def rest(unit) = unit.incomplete

        # @return [Array<Effect>] effects that complete all records of the unit
        def self.complete(lane, unit)
          lane.by_key? ? [Effect::CompleteEach.new(unit.messages.records)] : [Effect::Complete.new(unit.upto)]
        end

        def complete(unit) = self.class.complete(lane, unit)

        # @return [Effect] after a failure: incomplete records run again before anything else of their key. With manual offsets so
        #   do other records that their consumer may have held; but not if user code wasn't called: then the consumer has lost
        #   nothing
        def requeue(unit, messages = rest(unit))
          return Effect::Requeue.new(messages, unit.key) if automatic? || !unit.runs?
          Effect::Redeliver.new(messages, unit)
        end

        # @return [Array<Effect>] effects that prevent the record from being handed out again, whether it is complete or not
        def give_up(offset) = automatic? ? [] : [Effect::GiveUp.new(offset)]

        # @return [Effect] an effect that makes the following records wait
        # @param at [Integer, nil] monotonic ms
        def wait(unit, reason, at)
          lane.by_key? ? Effect::Park.new(unit.key, reason, at) : Effect::Hold.new(reason, at)
        end

        # @return [Effect] an effect that makes records run one by one, from the first record of the unit up to the offset
        def isolate(unit, through) = Effect::Isolate.new(through, unit.key, unit.messages.first_offset)
      end
    end
  end
end
