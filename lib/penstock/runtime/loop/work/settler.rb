# frozen_string_literal: true

require_relative "../../../errors"
require_relative "../../../on_demand"
Penstock.load_constant :WorkerDied

module Penstock
  module Runtime
    # Receives outcomes and performs the effects that settlement decides on. Runs on the poll loop's thread.
    class Settler
      # @param connection [ConnectionState]
      # @param topic_pipelines [Hash{Routing::Topic => Processing::TopicPipeline}]
      # @param ports [EffectContext]
      # @param hooks [Hooks]
      # @param crash_guard [CrashGuard]
      # @param slots [OffsetSlots, nil]
      def initialize(connection, topic_pipelines, ports, hooks, crash_guard, slots = nil)
        @crash_guard = crash_guard
        @slots = slots
        @connection = connection
        @topic_pipelines = topic_pipelines
        @ports = ports
        @hooks = hooks
      end

      # @param outcome [Processing::Outcome]
      def call(outcome)
        return if @slots&.defer(outcome)
        lane = outcome.unit.lane
        now = @connection.now
        lane.recording&.outcome(outcome, now)
        lane.returned(outcome.unit)
        outcome.unit.record_time(outcome.time_us) if outcome.time_us
        announced = suspected(lane, outcome) if lane.suspects
        call_back(lane, outcome)
        return ended_elsewhere(lane, outcome.unit) unless @connection.current?(lane)
        outcome.unit.requeue_rest
        settle(lane, outcome, now)
        lane.redelivery.settled(outcome.unit)
        @crash_guard.clear(lane) if announced
        @ports.schedule_commit
      end

      private

      # A record that killed the process of the pool in which it ran is counted at once.
      # @return [Boolean] whether it was a suspect that was counted by a commit
      def suspected(lane, outcome)
        unit = outcome.unit
        return false unless unit.consume? && unit.crashes.nil?
        died = outcome.blamed if outcome.error.is_a?(WorkerDied)
        return false if died.nil? && lane.suspects.nothing_to_check?
        lane.suspects.ended(unit, died: died, time_us: outcome.time_us)
      end

      # A unit of a revoked lane has ended; its hook may have waited for it.
      def ended_elsewhere(lane, unit)
        @hooks.ended(lane)
        @connection.orphaned_units.ended(lane, unit, @connection.lane(lane.key))
      end

      def call_back(lane, outcome)
        return unless outcome.stalls?
        return @connection.call_back_preparing(lane) if outcome.unit.prepare?
        @connection.call_back(lane, unstall: true) if called_back?(lane, outcome)
      end

      # Units queued after a failed one are called back. Keys that run side by side don't wait for each other's failures, only
      # for a request that concerns the whole partition.
      def called_back?(lane, outcome) = lane.by_key? ? outcome.flow : outcome.stalls?

      # A failing effect ends the connection: what was decided but not done is decided again on the next one.
      def settle(lane, outcome, now)
        topic_pipeline = @topic_pipelines.fetch(lane.topic)
        perform(lane, topic_pipeline.settle(lane, outcome, now)) unless topic_pipeline.complete_directly(lane, outcome)
        unfinished(lane, outcome) unless outcome.finished || outcome.error
      end

      def perform(lane, effects)
        lane.recording&.effects(effects)
        effects.each { |effect| effect.perform(lane, @ports) }
      end

      def unfinished(lane, outcome)
        messages = outcome.unit.messages
        return if lane.topic.manual_offset_management? || outcome.flow
        @connection.emit("consumer.unfinished", {topic: lane.topic_name, partition: lane.partition,
          first_offset: messages.first_offset, last_offset: messages.last_offset, stopped_at: messages.blamed_offset})
      end
    end
  end
end
