# frozen_string_literal: true

require_relative "../effects/effects"

module Penstock
  module Processing
    module Settlement
      # What deciders may look at beside the outcome: the lane, the time (monotonic ms) and the topic's policy. The only place
      # that knows whether waiting concerns the whole lane or one key of it.
      Context = Struct.new(:lane, :now, :backoff, :critical_errors, :assembly, keyword_init: true) do
        # @return [Boolean] whether the outcome belongs to the lane's present life
        def current?(unit) = unit.incarnation == lane.incarnation

        def automatic? = !lane.topic.manual_offset_management?
        def owned? = lane.owned?

        # Records of the unit that aren't complete, after the marks were taken.
        # @return [Messages]
        def rest(unit) = lane.incomplete_of(unit)

        # @return [Array<Effect>] all records of the unit are complete
        def self.complete(lane, unit)
          lane.rolling? ? [Effect::CompleteEach.new(unit.messages.records)] : [Effect::Complete.new(unit.upto)]
        end

        def complete(unit) = self.class.complete(lane, unit)

        # @return [Effect] after a failure: what isn't complete runs again before anything else of its key. With manual offsets so
        #   does what its consumer may have held beside it; but where user code wasn't called nobody has lost anything
        def requeue(unit, messages = rest(unit))
          return Effect::Requeue.new(messages, unit.key) if automatic? || unit.crashes
          Effect::Redeliver.new(messages, unit)
        end

        # @return [Array<Effect>] the record is not to be handed out again, whether it is complete or not
        def give_up(offset) = automatic? ? [] : [Effect::GiveUp.new(offset)]

        # @return [Effect] what follows in order waits
        # @param at [Integer, nil] monotonic ms
        def wait(unit, reason, at)
          lane.rolling? ? Effect::Park.new(unit.key, reason, at) : Effect::Hold.new(reason, at)
        end

        # @return [Effect] one record a unit, from the first one of the unit up to the offset
        def isolate(unit, through) = Effect::Isolate.new(through, unit.key, unit.messages.first_offset)
      end
    end
  end
end
