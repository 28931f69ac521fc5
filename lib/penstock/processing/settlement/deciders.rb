# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../consumer/flow"
require_relative "../../on_demand"
require_relative "../effects/effects"
Penstock.load_constant :AssignmentLostError

module Penstock
  module Processing
    # Decides what an outcome changes: offsets and flow. Each decider returns effects, or nil to let the next one decide. The
    # first answer wins; {TopicPipeline} sets their order. The user's marks are read into the ledger before.
    module Settlement
      # Ignores the outcome when the partition is no longer ours, or the unit belongs to an earlier incarnation of the lane.
      class Outdated
        def call(outcome, context)
          [] unless context.lane.owned? && context.current?(outcome.unit)
        end
      end

      # Settles hooks and end-of-partition calls: they move no records, and their errors were reported where they ran. With
      # manual offsets their consumer may have lost the records it held.
      class CallWithoutRecords
        LOSING = %i[tick eofed].freeze
        private_constant :LOSING

        def call(outcome, context)
          return if outcome.unit.consume?
          [*again(outcome, context), *FlowRequested.effects(outcome.flow, nil, context)]
        end

        private

        # Waits a back-off first, so that a call that always fails doesn't redeliver everything without a pause. The wait grows as
        # a record's does, until the lowest incomplete record is complete.
        def again(outcome, context)
          return unless outcome.error && LOSING.include?(outcome.unit.action) && !context.automatic?
          lane = context.lane
          return unless lane.redelivery.anything_to_request?
          wait = context.backoff.delay_ms(lane.redelivery.count_failure)
          at = [lane.holds.due(:retry), context.now + wait].compact.max
          [Effect::Hold.new(:retry, at), Effect::Redeliver.new(outcome.unit.messages, nil)]
        end
      end

      # Settles a unit that was interrupted because the time for the stop was up: marked records count, the next owner gets the
      # rest. No attempt is counted.
      class Interrupt
        def call(outcome, context)
          return unless outcome.error.is_a?(Interrupted)
          [context.requeue(outcome.unit)]
        end
      end

      # Stops the process in order after an error that concerns all of it: the record is neither retried nor skipped.
      class Critical
        def call(outcome, context)
          error = outcome.error
          return unless error && critical?(error, context.critical_errors)
          [Effect::Hold.new(:critical, nil), context.requeue(outcome.unit), Effect::Stop.new(error)]
        end

        private

        def critical?(error, classes) = error.is_a?(CriticalError) || classes.any? { |klass| error.is_a?(klass) }
      end

      # Runs records again when their transaction was interrupted by a rebalance and the partition is still ours, or when the
      # transaction could not include the offset. No record failed, so no attempt is counted and no record is dead-lettered.
      class TransactionRetry
        RETRY_MS = 100
        ERRORS = [AssignmentLostError, TransactionDeferredError].freeze
        private_constant :RETRY_MS, :ERRORS

        def call(outcome, context)
          return unless ERRORS.any? { |error| outcome.error.is_a?(error) }
          [context.wait(outcome.unit, :retry, context.now + RETRY_MS), context.requeue(outcome.unit)]
        end
      end

      # Tries the record again after a back-off. After the first failure of a unit with several records, the incomplete ones run
      # one at a time until the blamed one has passed, so that healthy records aren't run again with it.
      class Retry
        # @param policy [Failure::Policy]
        def initialize(policy)
          @policy = policy
        end

        def call(outcome, context)
          return unless outcome.error
          # If it isn't known which record has failed, they run one by one first, and each has its own attempts.
          failed = @policy.blamed(outcome, context.rest(outcome.unit)) if counts?(outcome)
          attempt = failed ? context.lane.attempts.fail(failed) : 1
          wait_ms = @policy.backoffs.delay_ms(outcome.error, attempt, requested_ms(outcome))
          context.lane.attempts.wait(failed, wait_ms) if failed
          at = context.now + wait_ms
          [pausing(outcome, context, at), *again(outcome, context),
            *FlowRequested.hold(outcome.flow, context, outcome.unit),
            Effect::Emit.new("consumer.consuming.pause", pause(outcome, context, attempt, at))]
        end

        private

        # After a seek all keys begin again, also those that wait.
        def pausing(outcome, context, at)
          return Effect::Hold.new(:retry, [context.lane.holds.due(:retry), at].compact.max) if outcome.flow.is_a?(Consumer::Flow::Seek)
          context.wait(outcome.unit, :retry, at)
        end

        # A seek cuts no unit into single records.
        def counts?(outcome)
          outcome.located? || !@policy.isolate? || names_record?(outcome) || outcome.flow.is_a?(Consumer::Flow::Seek)
        end

        # A process that died was at that record, though it may have read all of them.
        def names_record?(outcome)
          error = outcome.error
          error.is_a?(Error) && error.respond_to?(:offset) && error.offset == outcome.blamed
        end

        # The return value of a user's `backoff_for` block, called on the worker.
        def requested_ms(outcome) = outcome.callback_results&.backoff_ms

        # A seek requested before the error still applies: the user's request has priority over the retry.
        def again(outcome, context)
          return FlowRequested.effects(outcome.flow, outcome.unit, context) if outcome.flow.is_a?(Consumer::Flow::Seek)
          isolated = @policy.isolate? ? [context.isolate(outcome.unit, outcome.blamed)] : []
          [*isolated, context.requeue(outcome.unit)]
        end

        def pause(outcome, context, attempt, at)
          {manual: false, topic: context.lane.topic_name, partition: context.lane.partition, offset: outcome.blamed,
           timeout: at - context.now, attempt: attempt}
        end
      end

      # Settles a unit that succeeded and requested a pause or a seek, or ended early: only the records it marked are complete.
      class FlowRequested
        def call(outcome, context)
          return unless outcome.flow
          self.class.effects(outcome.flow, outcome.unit, context)
        end

        class << self
          # @return [Array<Effect>]
          def effects(flow, unit, context)
            case flow
            when Consumer::Flow::Seek then [*seek(flow.target, unit, context), *(flow.pauses? ? wait(flow, context, unit) : [])]
            when Consumer::Flow::Pause then [*position(flow, unit, context), *hold(flow, context, unit)]
            when Consumer::Flow::Collapse then [Effect::Collapse.new(flow.through)]
            when Consumer::Flow::Resume then [Effect::Release.new(:user)]
            when Consumer::Flow::MarkedOnly then (unit && context.automatic?) ? [context.requeue(unit)] : []
            else []
            end
          end

          # @param unit [Unit, nil] during which it was requested
          # @return [Array<Effect>]
          def hold(flow, context, unit) = flow.is_a?(Consumer::Flow::Pause) ? wait(flow, context, unit) : []

          private

          def wait(flow, context, unit)
            lane = context.lane
            [Effect::Hold.new(:user, latest_end(lane.holds, flow.timeout_ms && (context.now + flow.timeout_ms))),
              Effect::Emit.new("consumer.consuming.pause", {manual: true, topic: lane.topic_name, partition: lane.partition,
                offset: flow.position || lane.committable_offset, timeout: flow.timeout_ms,
                attempt: unit&.attempt || 1})]
          end

          # Where keys run in parallel several calls may pause the lane: none ends the pause of another one.
          def latest_end(holds, at)
            return at unless holds.include?(:user)
            [holds.due(:user), at].max unless at.nil? || holds.due(:user).nil?
          end

          # Where the lane continues after the pause: at the given offset, else after the unit.
          #
          # Where keys run in parallel, later units don't complete the records that the unit left incomplete: those run again
          # after the pause, and records before the given offset are complete at once.
          def position(flow, unit, context)
            return flow.offset ? seek(flow.offset, nil, context) : [] unless unit # requested outside a unit
            return flow.offset ? continue_at(flow, unit) : [] unless context.lane.by_key?
            return seek(flow.offset, unit, context) if flow.offset && !within?(unit, flow.offset)
            rest = context.rest(unit)
            again = rest.from_offset(flow.offset || 0)
            passed = rest.slice(0, rest.size - again.size)
            [*([Effect::CompleteEach.new(passed)] if context.automatic?), Effect::Requeue.new(again, unit.key)]
          end

          def continue_at(flow, unit)
            return [Effect::Seek.new(flow.offset, :user)] unless within?(unit, flow.offset)
            [Effect::Requeue.new(unit.messages.from_offset(flow.offset))]
          end

          # Where keys run in parallel, other units have records before the unit's last one, and the user who seeks in this one
          # doesn't ask to skip them.
          def seek(target, unit, context)
            lane = context.lane
            limit = limit_of(target, unit) if lane.by_key? && context.automatic?
            own = unit.messages.offsets if limit
            waits = limit && (lane.awaited_seek.limit || lane.awaited_seek.before?(limit, own))
            [waits ? Effect::SeekLater.new(target, limit, own) : Effect::Seek.new(target, :user)]
          end

          # @return [Integer, nil] up to it, a seek in the unit skips only the unit's own records
          def limit_of(target, unit)
            return unless unit&.consume? && target != :earliest
            after = unit.messages.last_offset + 1
            (target == :latest) ? after : [target, after].min
          end

          def within?(unit, offset) = offset.between?(unit.messages.first_offset, unit.upto)
        end
      end

      # Settles a unit that succeeded: with automatic offsets all its records are complete, else those that were marked.
      class Advance
        def call(outcome, context)
          return [] unless context.automatic?
          context.complete(outcome.unit)
        end
      end
    end
  end
end
