# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "admission/pipeline"
require_relative "admission/prepare"
require_relative "admission/take"
require_relative "backoff"
require_relative "division/gathering"
require_relative "division/rolling"
require_relative "division/whole"
require_relative "failure/breaker"
require_relative "failure/policy"
require_relative "failure/suspects"
require_relative "lane"
require_relative "settlement/breaker"
require_relative "settlement/context"
require_relative "settlement/dead_letter_after"
require_relative "settlement/deciders"
require_relative "settlement/prepared"
require_relative "settlement/skip"

module Penstock
  module Processing
    # Puts together, once a topic, what decides about its records. The one place where an order of deciders is written.
    class Assembly
      # Who is asked first: an outcome that no longer counts, then what concerns the process, then failures, then success.
      SETTLEMENT = [
        Settlement::Lost,
        Settlement::Prepared,
        Settlement::Interrupt,
        Settlement::Critical,
        Settlement::Hooked,
        Settlement::Displaced,
        Settlement::Skip,
        Settlement::Breaker,
        Settlement::DeadLetterAfter,
        Settlement::Retry,
        Settlement::FlowRequested,
        Settlement::Advance
      ].freeze
      # Those that go by what the route says about failures.
      BY_POLICY = [Settlement::Skip, Settlement::DeadLetterAfter, Settlement::Retry].freeze
      # What an application without settings of its own has.
      WINDOW = {records: 1_000, bytes: 16 * 1024 * 1024}.freeze

      attr_reader :topic, :admission

      # @return [Integer] workers there are
      attr_writer :concurrency

      # @return [Failure::Breaker, Runtime::SharedBreaker, nil]
      attr_reader :breaker

      # @param topic [Routing::Topic]
      # @param critical_errors [Array<Class>] errors that stop the process
      # @param concurrency [Integer] workers there are
      # @param window [Hash{Symbol => Integer}] records and bytes a lane may have at hand
      # @param clock [Clock]
      # @param breaker [Runtime::SharedBreaker, nil] the topic's; nil: one of its own, where the route has one
      def initialize(topic, critical_errors:, concurrency: 1, window: WINDOW, clock: Clock::SYSTEM, breaker: nil)
        @topic = topic
        @critical_errors = critical_errors
        @concurrency = concurrency
        @window = window
        @clock = clock
        @admission = Admission::Take.new(clock)
        @backoff = Backoff.new(topic.pause.timeout, topic.pause.max_timeout, topic.pause.exponential)
        @policy = Failure::Policy.new(topic)
        @breaker = breaker || (Failure::Breaker.new(@policy.breaker, @backoff, @policy.family) if @policy.breaker)
        @deciders = SETTLEMENT.filter_map { |decider| decider(decider) }.freeze
        @automatic = !topic.manual_offset_management?
      end

      # @param topic_name [String] name in Kafka
      # @param source [Object] what records are taken from
      # @return [Lane] a partition that was assigned
      def lane(topic_name, partition, epoch, source = nil)
        Lane.new(topic: @topic, topic_name: topic_name, partition: partition, epoch: epoch, source: source, division: division)
          .tap do |lane|
            place = {topic_name: topic_name, partition: partition}
            lane.pipeline = Admission::Pipeline.for(@topic, **place)
            lane.prepare = Admission::Prepare.for(@topic, **place, backoff: @backoff)
            lane.suspects = suspects
            lane.breaker = @breaker
          end
      end

      # @return [Integer] units of a lane that may run at once
      def width = parallel ? [parallel.max_partitions, @concurrency].compact.min : 1

      # @return [Boolean] whether a unit's key names the consumer instance
      def bound? = parallel&.consistent? || false

      # Lets in what was taken, as far as its time has come.
      # @param lane [Lane] with something in its intake that doesn't wait
      # @param now [Integer] monotonic ms
      # @return [Array<Effect>]
      def let_in(lane, now)
        intake = lane.intake
        entry = intake.first or return elsewhere(lane)
        return [Effect::Prepare.new] if lane.prepare && !entry.prepared
        intake.shift
        admit(lane, entry.messages, entry.keys, now)
      end

      # What nearly every outcome comes to: all of its unit is complete, and there is nothing else to do or to tell. The same as
      # the effects that {#settle} gives then, which nobody has to make, write down and perform.
      # @param lane [Lane]
      # @param outcome [Outcome]
      # @return [Boolean] whether it came to that
      def complete?(lane, outcome)
        unit = outcome.unit
        return false unless ended_well?(outcome) && lane.owned? && unit.incarnation == lane.incarnation
        complete(lane, unit)
        @breaker.passed(unit) if @breaker&.failing?
        true
      end

      # @param lane [Lane]
      # @param outcome [Outcome]
      # @param now [Integer] monotonic ms
      # @return [Array<Effect>] in the order in which they are to be performed
      def settle(lane, outcome, now)
        unit = outcome.unit
        counts = lane.owned? && unit.incarnation == lane.incarnation
        return Settlement::Context.complete(lane, unit) if counts && lane.rolling? && ended_well?(outcome)
        lane.take_marks(marks_limit(outcome.flow), unit) if counts
        return Settlement::Context.complete(lane, unit) if counts && ended_well?(outcome)
        context = context(lane, now)
        @deciders.each do |decider|
          effects = decider.call(outcome, context)
          return effects if effects
        end
        raise InternalError, "no decider answered for an outcome of #{lane.topic_name}/#{lane.partition}"
      end

      # User code asks for a change of flow while no unit of the lane carries it.
      # @param flow [Consumer::Flow]
      # @return [Array<Effect>]
      def ask(lane, flow, now) = Settlement::FlowRequested.effects(flow, nil, context(lane, now))

      # Records whose time may have come.
      # @return [Array<Effect>]
      def admit(lane, messages, keys, now)
        return [Effect::LetIn.new(messages, keys)] unless lane.pipeline
        run = lane.pipeline.call(messages, now, @clock.wall_ms, keys)
        [Effect::PutBack.new(run.rest, run.rest_keys, run.hold), Effect::LetIn.new(run.messages, run.keys),
          Effect::Drop.new(run.dropped), *run.events.map { |event| Effect::Emit.new(*event) }]
      end

      # Narrows a unit to what may still run.
      # @param unit [Unit] not handed out yet
      # @return [Array<Effect>]
      def again(lane, unit, now)
        run = lane.pipeline.again(unit.messages, now, @clock.wall_ms)
        return [] if run.dropped.empty?
        gone = run.dropped.to_h { |offset| [offset, true] }
        dropped = unit.messages.select { |message| gone.key?(message.offset) }
        unit.messages = run.messages
        [Effect::CompleteEach.new(dropped), *run.events.map { |event| Effect::Emit.new(*event) }]
      end

      private

      # What nearly every outcome is: automatic offsets, and no decider has anything to say about it, so none is asked.
      def ended_well?(outcome)
        @automatic && outcome.smooth? && outcome.unit.consume? && (@breaker.nil? || @breaker.at_rest?)
      end

      # Marks of a whole lane may be ahead of the unit; side by side they say no more than that it has ended.
      def complete(lane, unit)
        return lane.complete(unit.messages.records) if lane.rolling?
        lane.take_marks
        lane.complete_through(unit.upto)
      end

      def decider(kind)
        return @breaker && kind.new(@breaker, @policy) if kind == Settlement::Breaker
        BY_POLICY.include?(kind) ? kind.new(@policy) : kind.new
      end

      def context(lane, now)
        Settlement::Context.new(lane: lane, now: now, backoff: @backoff, critical_errors: @critical_errors, assembly: self)
      end

      def suspects
        Failure::Suspects.new(@policy.quarantine, remote: @topic.features[:run_on]&.processes? || false) if @policy.quarantine
      end

      def parallel = @topic.features[:parallel]

      def division
        batch = @topic.features[:batch] or return cutting
        Division::Gathering.new(cutting, batch, max: @topic.max_messages, clock: @clock)
      end

      def cutting
        unless parallel
          return Division::Whole.new(@topic.max_messages, window_bytes: window.fetch(:bytes), stretch: stretch?)
        end
        Division::Rolling.new(max: @topic.max_messages, width: width, each: parallel.by == :message,
          window_records: [window.fetch(:records), 2 * @topic.max_messages].max, window_bytes: window.fetch(:bytes))
      end

      # Several calls of `consume` a unit, where nothing but what the outcome says is to be decided between two of them, and the
      # worker has what the next one needs.
      def stretch?
        features = @topic.features
        return false unless @automatic && @breaker.nil? && features[:batch].nil? && features[:time_limit].nil? && !narrows?
        features[:run_on].nil? || features[:run_on].threads?
      end

      # Records that wait may become too old.
      def narrows? = Admission::Pipeline.for(@topic, topic_name: @topic.name, partition: 0)&.again? || false

      def window
        own = @topic.features[:window]
        own ? @window.merge(own.to_h.compact) : @window
      end

      # A filter goes on elsewhere, once all that went in before is done with.
      def elsewhere(lane)
        return [] unless lane.idle? && lane.division.empty?
        target = lane.intake.seek_to
        target = [target, lane.ledger.base].min if @topic.manual_offset_management? # what isn't marked runs again
        [Effect::Seek.new(target, :filter)]
      end

      # Marks of a unit that sought back count only below the target.
      def marks_limit(flow)
        flow.target if flow.is_a?(Consumer::Flow::Seek) && flow.target.is_a?(Integer)
      end
    end
  end
end
