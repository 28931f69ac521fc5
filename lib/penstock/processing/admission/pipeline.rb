# frozen_string_literal: true

require_relative "../../cautious_clock"
require_relative "delay"
require_relative "due"
require_relative "expire"
require_relative "selection"
require_relative "throttle"

module Penstock
  module Processing
    module Admission
      # Decides whether records may be admitted now: runs the built-in steps of a route in their order, each narrowing the
      # result of the one before. Pure: both clocks are arguments, and the result is a {Run} that the caller acts on.
      #
      # One per lane, because steps keep state; called on the lane's poll loop. It lives as long as the assignment.
      class Pipeline
        # Expired records needn't wait, and waiting records needn't be counted.
        STEPS = {
          expire_in: ->(value, clock) { Expire.new(value, clock) },
          delay_by: ->(value, clock) { Delay.new(value, clock) },
          due: ->(delay_ms, clock) { Due.new(delay_ms, clock) },
          throttle: ->(value, _clock) { Throttle.new(value.limit, value.interval) unless value.per_key? }
        }.freeze

        # @param topic [Routing::Topic] the route
        # @param topic_name [String]
        # @param partition [Integer]
        # @param clock [CautiousClock] the process's: it must not end with the lane
        # @return [Pipeline, nil] nil where the route has no such step, so that its records needn't be looked at
        def self.for(topic, topic_name:, partition:, clock: CautiousClock.new)
          values = {**topic.features.slice(*STEPS.keys), due: due_within(topic)}
          steps = STEPS.filter_map { |name, step| step.call(values[name], clock) if values[name] }
          new(steps, topic_name: topic_name, partition: partition) unless steps.empty?
        end

        # @return [Integer, nil] longest wait of a record for the time in its header; nil: no feature of the route has such times
        def self.due_within(topic)
          topic.features.each_value.filter_map { |value| value.due_within_ms if value.respond_to?(:due_within_ms) }.max
        end
        private_class_method :due_within

        # @param steps [Array<#call>]
        def initialize(steps, topic_name:, partition:)
          @steps = steps
          @recheck = steps.select(&:recheck?)
          @place = {topic: topic_name, partition: partition}.freeze
          @held_at = nil
        end

        # @param messages [Messages] the head of what waits: the previous `rest`, then the records after it
        # @param now_ms [Integer] monotonic
        # @param wall_ms [Integer] ms since the epoch
        # @param keys [Array<Object>, nil] the keys {Prepare} computed, one per record
        # @return [Run] its hold always has an end
        def call(messages, now_ms, wall_ms, keys = nil)
          narrow(messages, keys) do |selection|
            @steps.each do |step|
              position = step.call(selection, now_ms, wall_ms)
              held(selection, position, now_ms) if position.is_a?(Integer)
            end
          end
        end

        # Checks records that were admitted before and have waited for others, or for their next attempt. This never makes them
        # wait longer, but it may drop them.
        # @return [Run]
        def recheck(messages, now_ms, wall_ms, keys = nil)
          narrow(messages, keys) { |selection| @recheck.each { |step| step.recheck(selection, now_ms, wall_ms) } }
        end

        # @return [Boolean] whether {#recheck} could drop anything
        def recheck? = !@recheck.empty?

        # The lane continues at another offset, after a seek or because its log went backwards.
        def reset
          @held_at = nil
          @steps.each(&:reset)
        end

        private

        def narrow(messages, keys)
          selection = Selection.new(messages, keys)
          yield selection
          selection.run.tap { |run| dropped(run) unless run.dropped.empty? }
        end

        # Emits one event for each record at which the lane waits, however often it is looked at.
        def held(selection, position, now_ms)
          offset = selection.messages.offset_at(position)
          return if @held_at == offset
          @held_at = offset
          selection.event("filtering.throttled", {**@place, offset: offset, timeout: selection.hold.last - now_ms,
            message: selection.messages.message_at(position), reason: selection.hold.first.to_s})
        end

        def dropped(run)
          run.events << ["filtering.dropped", {**@place, count: run.dropped.size, first_offset: run.dropped.first,
                                                         last_offset: run.dropped.last, reason: "expired"}]
        end
      end
    end
  end
end
