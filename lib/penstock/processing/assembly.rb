# frozen_string_literal: true

require_relative "admission/take"
require_relative "backoff"
require_relative "settlement/context"
require_relative "settlement/deciders"

module Penstock
  module Processing
    # Puts together, once a topic, what decides about its records. The one place where an order of deciders is written.
    class Assembly
      # Who is asked first: an outcome that no longer counts, then what concerns the process, then failures, then success.
      SETTLEMENT = [
        Settlement::Lost,
        Settlement::Interrupt,
        Settlement::Critical,
        Settlement::Hooked,
        Settlement::Retry,
        Settlement::FlowRequested,
        Settlement::Advance
      ].freeze

      attr_reader :topic, :admission

      # @param topic [Routing::Topic]
      # @param critical_errors [Array<Class>] errors that stop the process
      def initialize(topic, critical_errors:)
        @topic = topic
        @critical_errors = critical_errors
        @admission = Admission::Take.new
        @deciders = SETTLEMENT.map(&:new).freeze
        @backoff = Backoff.new(topic.pause.timeout, topic.pause.max_timeout, topic.pause.exponential)
      end

      # @param lane [Lane]
      # @param outcome [Outcome]
      # @param now [Integer] monotonic ms
      # @return [Array<Effect>] in the order in which they are to be performed
      def settle(lane, outcome, now)
        lane.take_marks(marks_limit(outcome.flow)) if lane.owned? && outcome.unit.incarnation == lane.incarnation
        context = Settlement::Context.new(lane: lane, now: now, backoff: @backoff, critical_errors: @critical_errors)
        @deciders.each do |decider|
          effects = decider.call(outcome, context)
          return effects if effects
        end
        raise InternalError, "no decider answered for an outcome of #{lane.topic_name}/#{lane.partition}"
      end

      # User code asks for a change of flow while no unit of the lane carries it.
      # @param flow [Consumer::Flow]
      # @return [Array<Effect>]
      def ask(lane, flow, now)
        context = Settlement::Context.new(lane: lane, now: now, backoff: @backoff, critical_errors: @critical_errors)
        Settlement::FlowRequested.effects(flow, nil, context)
      end

      private

      # Marks of a unit that sought back count only below the target.
      def marks_limit(flow)
        flow.target if flow.is_a?(Consumer::Flow::Seek) && flow.target.is_a?(Integer)
      end
    end
  end
end
