# frozen_string_literal: true

require_relative "../cautious_clock"
require_relative "../clock"
require_relative "../errors"
require_relative "admission/pipeline"
require_relative "admission/prepare"
require_relative "admission/take"
require_relative "backoff"
require_relative "division/gathering"
require_relative "division/by_key"
require_relative "division/in_order"
require_relative "division/throttled_by_key"
require_relative "failure/breaker"
require_relative "failure/policy"
require_relative "failure/crash_counts"
require_relative "lane"
require_relative "settlement/breaker"
require_relative "settlement/context"
require_relative "settlement/dead_letter_after"
require_relative "settlement/deciders"
require_relative "settlement/expired"
require_relative "settlement/prepared"
require_relative "settlement/skip"

module Penstock
  module Processing
    # Assembles, once per topic, the objects that decide about its records. The only place that sets the order of deciders.
    class TopicPipeline
      # Order of the deciders: outdated outcomes first, then errors that concern the process, then failures, then success.
      SETTLEMENT = [
        Settlement::Outdated,
        Settlement::Prepared,
        Settlement::Interrupt,
        Settlement::Expired,
        Settlement::Critical,
        Settlement::CallWithoutRecords,
        Settlement::TransactionRetry,
        Settlement::Skip,
        Settlement::Breaker,
        Settlement::DeadLetterAfter,
        Settlement::Retry,
        Settlement::FlowRequested,
        Settlement::Advance
      ].freeze
      # Deciders that use the route's failure settings.
      BY_POLICY = [Settlement::Expired, Settlement::Skip, Settlement::DeadLetterAfter, Settlement::Retry].freeze
      # Default of an application without settings of its own.
      WINDOW = {records: nil, bytes: 16 * 1024 * 1024}.freeze

      attr_reader :topic, :admission

      # @return [Integer] number of workers
      attr_writer :concurrency

      # @return [Failure::Breaker, Runtime::SharedBreaker, nil]
      attr_reader :breaker

      # @param topic [Routing::Topic]
      # @param critical_errors [Array<Class>] errors that stop the process
      # @param concurrency [Integer] number of workers
      # @param window [Hash{Symbol => Integer, nil}] records and bytes a lane may buffer; records nil: as its workers require
      # @param clock [Clock]
      # @param cautious_clock [CautiousClock] the process's
      # @param breaker [Runtime::SharedBreaker, nil] the topic's; nil: a separate one, if the route has a breaker
      def initialize(topic, critical_errors:, concurrency: 1, window: WINDOW, clock: Clock::SYSTEM,
        cautious_clock: CautiousClock.new, breaker: nil)
        @topic = topic
        @critical_errors = critical_errors
        @concurrency = concurrency
        @window = window
        @clock = clock
        @cautious_clock = cautious_clock
        @admission = Admission::Take.new(clock)
        @backoff = Backoff.of(topic.pause)
        @policy = Failure::Policy.new(topic)
        @breaker = breaker || (Failure::Breaker.new(@policy.breaker, @backoff, @policy.family) if @policy.breaker)
        @deciders = SETTLEMENT.filter_map { |decider| decider(decider) }.freeze
        @automatic = !topic.manual_offset_management?
      end

      # @param topic_name [String] name in Kafka
      # @param source [Object] records are taken from it
      # @param parts [Hash{Symbol => Object, nil}] replace those of the route, see {Lane#initialize}
      # @return [Lane] a partition that was assigned
      def lane(topic_name, partition, epoch, source = nil, **parts)
        place = {topic_name: topic_name, partition: partition}
        Lane.new(topic: @topic, **place, epoch: epoch, source: source, division: division, breaker: @breaker, suspects: suspects,
          pipeline: Admission::Pipeline.for(@topic, **place, clock: @cautious_clock),
          prepare: Admission::Prepare.for(@topic, **place, backoff: @backoff), **parts)
      end

      # @return [Integer] units of a lane that may run at once
      def width = parallel ? [parallel.max_partitions, @concurrency].compact.min : 1

      # @return [Boolean] whether a unit's key names the consumer instance
      def bound? = parallel&.consistent? || false

      # Admits records that were taken, as far as they are due.
      # @param lane [Lane] whose intake has records that needn't wait
      # @param now [Integer] monotonic ms
      # @return [Array<Effect>]
      def admit_next(lane, now)
        intake = lane.intake
        entry = intake.first or return filter_seek(lane)
        return [Effect::Prepare.new] if lane.prepare && !entry.prepared
        intake.shift
        admit(lane, entry.messages, entry.keys, now)
      end

      # @param lane [Lane]
      # @return [Array<Effect>] the seek that has waited until what is before it is complete
      def due_seek(lane)
        target = lane.awaited_seek.due
        target ? [Effect::Seek.new(target, :awaited)] : []
      end

      # Fast path for nearly every outcome: all records of its unit are complete, and there is nothing else to do or to report. It
      # has the same result as the effects of {#settle}, without creating, recording and performing them.
      # @param lane [Lane]
      # @param outcome [Outcome]
      # @return [Boolean] whether the outcome was settled
      def complete_directly(lane, outcome)
        unit = outcome.unit
        return false unless plain_success?(outcome) && lane.owned? && unit.incarnation == lane.incarnation
        complete(lane, unit)
        @breaker.unit_succeeded(unit) if @breaker&.failing?
        true
      end

      # @param lane [Lane]
      # @param outcome [Outcome]
      # @param now [Integer] monotonic ms
      # @return [Array<Effect>] in the order in which they are to be performed
      def settle(lane, outcome, now)
        unit = outcome.unit
        counts = lane.owned? && unit.incarnation == lane.incarnation
        return Settlement::Context.complete(lane, unit) if counts && lane.by_key? && plain_success?(outcome)
        unit.marks&.close if counts && @automatic && outcome.stalls?
        lane.take_marks(marks_limit(outcome.flow), unit) if counts
        return Settlement::Context.complete(lane, unit) if counts && plain_success?(outcome)
        context = context(lane, now)
        @deciders.each do |decider|
          effects = decider.call(outcome, context)
          return effects if effects
        end
        raise InternalError, "no decider answered for an outcome of #{lane.topic_name}/#{lane.partition}"
      end

      # User code requests a change of flow outside of a unit.
      # @param flow [Consumer::Flow]
      # @return [Array<Effect>]
      def request(lane, flow, now) = Settlement::FlowRequested.effects(flow, nil, context(lane, now))

      # Admits records that may be due.
      # @return [Array<Effect>]
      def admit(lane, messages, keys, now)
        return [Effect::LetIn.new(messages, keys)] unless lane.pipeline
        run = lane.pipeline.call(messages, now, @clock.wall_ms, keys)
        [Effect::PutBack.new(run.rest, run.rest_keys, run.hold), Effect::LetIn.new(run.messages, run.keys),
          Effect::Drop.new(run.dropped), *run.events.map { |event| Effect::Emit.new(*event) }]
      end

      # Drops expired records from a unit before it runs; if they are sent to a topic, the unit is cut so that it has either
      # only expired records or none, and the others run next.
      # @param unit [Unit] not handed out yet
      # @return [Array<Effect>]
      def drop_expired(lane, unit, now)
        run = lane.pipeline.recheck(unit.messages, now, @clock.wall_ms)
        return [] if run.dropped.empty?
        gone = run.dropped.to_h { |offset| [offset, true] }
        return part_expired(unit, gone) if @topic.features[:expire_in].letters?
        dropped = unit.messages.select { |message| gone.key?(message.offset) }
        unit.continue_with(run.messages)
        [Effect::CompleteEach.new(dropped), *run.events.map { |event| Effect::Emit.new(*event) }]
      end

      private

      # @return [Array<Effect>] none
      def part_expired(unit, gone)
        messages = unit.messages
        expired = gone.key?(messages.first_offset)
        alike = (0...messages.size).take_while { |index| gone.key?(messages.offset_at(index)) == expired }
        unit.shorten(alike.size)
        unit.expired = expired
        []
      end

      # True for nearly every outcome: offsets are automatic and no decider has anything to do, so none is called.
      def plain_success?(outcome)
        @automatic && !outcome.stalls? && outcome.unit.consume? && (@breaker.nil? || @breaker.ignores_success?)
      end

      # Marks of a whole lane may be ahead of the unit; where keys run in parallel they add nothing once it has ended.
      def complete(lane, unit)
        return lane.complete(unit.messages.records) if lane.by_key?
        lane.take_marks
        lane.complete_through(unit.upto)
      end

      def decider(kind)
        return @breaker && kind.new(@breaker, @policy) if kind == Settlement::Breaker
        BY_POLICY.include?(kind) ? kind.new(@policy) : kind.new
      end

      def context(lane, now)
        Settlement::Context.new(lane: lane, now: now, backoff: @backoff, critical_errors: @critical_errors, topic_pipeline: self)
      end

      def suspects
        Failure::CrashCounts.new(@policy.quarantine, remote: @topic.features[:run_on]&.processes? || false) if @policy.quarantine
      end

      def parallel = @topic.features[:parallel]

      def division
        batch = @topic.features[:batch] or return cutter
        Division::Gathering.new(cutter, batch, max: @topic.max_messages, clock: @clock)
      end

      def cutter
        unless parallel
          return Division::InOrder.new(@topic.max_messages, window_bytes: window.fetch(:bytes), stretch: stretch?)
        end
        options = {max: @topic.max_messages, width: width, each: parallel.by == :message,
                   window_records: window[:records], window_bytes: window.fetch(:bytes)}
        throttle = @topic.features[:throttle]
        return Division::ByKey.new(**options) unless throttle&.per_key?
        Division::ThrottledByKey.new(throttle: throttle, clock: @clock, **options)
      end

      # A unit may have several calls of `consume` where only their outcome matters between two of them, and the worker has
      # everything the next one needs.
      def stretch?
        features = @topic.features
        return false unless @automatic && @breaker.nil? && features[:batch].nil? && features[:time_limit].nil? && !may_expire?
        features[:run_on].nil? || features[:run_on].threads?
      end

      # @return [Boolean] whether waiting records may expire
      def may_expire? = Admission::Pipeline.for(@topic, topic_name: @topic.name, partition: 0)&.recheck? || false

      def window
        own = @topic.features[:window]
        own ? @window.merge(own.to_h.compact) : @window
      end

      # A filter's seek, performed once all records admitted before it are complete.
      def filter_seek(lane)
        return [] unless lane.idle? && lane.division.empty?
        target = lane.intake.seek_to
        target = [target, lane.ledger.base].min if @topic.manual_offset_management? # unmarked records run again
        [Effect::Seek.new(target, :filter)]
      end

      # Marks of a unit with a backward seek count only below the target.
      def marks_limit(flow)
        flow.target if flow.is_a?(Consumer::Flow::Seek) && flow.target.is_a?(Integer)
      end
    end
  end
end
