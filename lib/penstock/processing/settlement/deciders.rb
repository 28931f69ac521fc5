# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../consumer/errors"
require_relative "../../consumer/flow"
require_relative "../effects/effects"

module Penstock
  module Processing
    # Given an outcome, what happens to offsets and flow. Each decider answers with effects, or nil: "not mine, ask the next".
    # The first answer wins; their order is written in `assembly.rb`. The user's marks were taken into the ledger before.
    module Settlement
      # The partition is no longer ours, or the unit belongs to a life of the lane that is over: nothing counts.
      class Lost
        def call(outcome, context)
          [] unless context.lane.owned? && context.current?(outcome.unit)
        end
      end

      # Hooks and end-of-partition calls move no records; their errors were reported where they ran. With manual offsets their
      # consumer may have lost with one what it held.
      class Hooked
        LOSING = %i[tick eofed].freeze
        private_constant :LOSING

        def call(outcome, context)
          return if outcome.unit.consume?
          [*again(outcome, context), *FlowRequested.effects(outcome.flow, nil, context)]
        end

        private

        # A call that fails each time must not have everything come again at once, each time.
        def again(outcome, context)
          return unless outcome.error && LOSING.include?(outcome.unit.action) && !context.automatic?
          return unless context.lane.unmarked_handed_out?
          at = [context.lane.holds.due(:retry), context.now + context.backoff.delay_ms(1)].compact.max
          [Effect::Hold.new(:retry, at), Effect::Redeliver.new(outcome.unit.messages, nil)]
        end
      end

      # The stop's time was up: what was marked counts, the rest is the next owner's. No attempt is counted.
      class Interrupt
        def call(outcome, context)
          return unless outcome.error.is_a?(Interrupted)
          [context.requeue(outcome.unit)]
        end
      end

      # An error that concerns the whole process: the record is neither retried nor skipped, the process stops in order.
      class Critical
        def call(outcome, context)
          error = outcome.error
          return unless error && critical?(error, context.critical_errors)
          [Effect::Hold.new(:critical, nil), context.requeue(outcome.unit), Effect::Stop.new(error)]
        end

        private

        def critical?(error, classes) = error.is_a?(CriticalError) || classes.any? { |klass| error.is_a?(klass) }
      end

      # A transaction met the group while it was given out anew, but the partition is still ours; or it could not take the offset
      # along. Nothing of it failed, so no attempt is counted and nothing is given up.
      class Displaced
        AGAIN_MS = 100
        ERRORS = [AssignmentLostError, TransactionDeferredError].freeze
        private_constant :AGAIN_MS, :ERRORS

        def call(outcome, context)
          return unless ERRORS.any? { |error| outcome.error.is_a?(error) }
          [context.wait(outcome.unit, :retry, context.now + AGAIN_MS), context.requeue(outcome.unit)]
        end
      end

      # Tried again after a back-off. From the first failure of a unit with several records on, what is left runs one record at
      # a time until the blamed one has passed, so that healthy records aren't run again with it.
      class Retry
        # @param policy [Failure::Policy]
        def initialize(policy)
          @policy = policy
        end

        def call(outcome, context)
          return unless outcome.error
          attempt = context.lane.attempts.fail(@policy.blamed(outcome, context.rest(outcome.unit)))
          at = context.now + @policy.backoffs.delay_ms(outcome.error, attempt, asked(outcome))
          [context.wait(outcome.unit, :retry, at), *again(outcome, context), *FlowRequested.hold(outcome.flow, context),
            Effect::Emit.new("consumer.consuming.pause", pause(outcome, context, attempt, at))]
        end

        private

        # What a block of the user's answered, on the worker.
        def asked(outcome) = outcome.advice&.backoff_ms

        # A seek that was asked for before the error stands: the user wins over the retry.
        def again(outcome, context)
          return [Effect::Seek.new(outcome.flow.target, :user)] if outcome.flow.is_a?(Consumer::Flow::Seek)
          isolated = @policy.isolate? ? [context.isolate(outcome.unit, outcome.blamed)] : []
          [*isolated, context.requeue(outcome.unit)]
        end

        def pause(outcome, context, attempt, at)
          {manual: false, topic: context.lane.topic_name, partition: context.lane.partition, offset: outcome.blamed,
           timeout: at - context.now, attempt: attempt}
        end
      end

      # The unit ended well and asked to pause or to go on elsewhere: only what it marked is complete.
      class FlowRequested
        def call(outcome, context)
          return unless outcome.flow
          self.class.effects(outcome.flow, outcome.unit, context)
        end

        class << self
          # @return [Array<Effect>]
          def effects(flow, unit, context)
            case flow
            when Consumer::Flow::Seek then [Effect::Seek.new(flow.target, :user)]
            when Consumer::Flow::Pause then [*position(flow, unit, context), *hold(flow, context)]
            when Consumer::Flow::Collapse then [Effect::Collapse.new(flow.through)]
            when Consumer::Flow::Resume then [Effect::Release.new(:user)]
            else []
            end
          end

          # @return [Array<Effect>]
          def hold(flow, context)
            return [] unless flow.is_a?(Consumer::Flow::Pause)
            at = flow.timeout_ms && (context.now + flow.timeout_ms)
            lane = context.lane
            [Effect::Hold.new(:user, at),
              Effect::Emit.new("consumer.consuming.pause", {manual: true, topic: lane.topic_name, partition: lane.partition,
                offset: flow.offset || lane.position, timeout: flow.timeout_ms, attempt: 0})]
          end

          private

          # Where the lane goes on after the pause: at the offset named, else behind the unit.
          #
          # Where keys run side by side nothing that follows completes what the unit left: it runs again after the pause, and
          # what lies before the offset that was named is complete at once.
          def position(flow, unit, context)
            return flow.offset ? [Effect::Seek.new(flow.offset, :user)] : [] unless unit # asked for outside of one
            return flow.offset ? elsewhere(flow, unit) : [] unless context.lane.rolling?
            return [Effect::Seek.new(flow.offset, :user)] if flow.offset && !within?(unit, flow.offset)
            rest = context.rest(unit)
            again = rest.from_offset(flow.offset || 0)
            passed = rest.slice(0, rest.size - again.size)
            [*([Effect::CompleteEach.new(passed)] if context.automatic?), Effect::Requeue.new(again, unit.key)]
          end

          def elsewhere(flow, unit)
            return [Effect::Seek.new(flow.offset, :user)] unless within?(unit, flow.offset)
            [Effect::Requeue.new(unit.messages.from_offset(flow.offset))]
          end

          def within?(unit, offset) = offset.between?(unit.messages.first_offset, unit.upto)
        end
      end

      # The unit ended well: with automatic offsets all its records are complete, else those that were marked.
      class Advance
        def call(outcome, context)
          return [] unless context.automatic?
          context.complete(outcome.unit)
        end
      end
    end
  end
end
