# frozen_string_literal: true

require "penstock/consumer/flow"
require "penstock/runtime/breaker_registry"
require "penstock/runtime/loop/work/breakers"
require "penstock/runtime/loop/work/dead_letters"
require "penstock/runtime/loop/work/feeder"
require "penstock/runtime/loop/work/hooks"
require "penstock/runtime/loop/work/orphaned_units"
require "penstock/runtime/loop/mailbox"
require "penstock/runtime/loop/work/effect_context"
require "penstock/execution/run_queue"
require "penstock/runtime/loop/connection_state"
require "penstock/runtime/loop/work/settler"
require "penstock/routing/features"
require_relative "assembled/doubles"
require_relative "assembled/forgetting"
require_relative "assembled/rules"
require_relative "failing"
require_relative "virtual_clock"

module Penstock
  module TestSupport
    # Runs one lane of one topic pipeline with everything of the loop that touches it. Log, workers and producer are
    # simulated from a seed. A model keeps track of which records may be complete and where each of the others must be.
    class Assembled
      include Failing

      # Raised when a rule was broken; the message names the rule and how to run the seed again.
      class Violation < StandardError; end

      include Forgetting
      include Rules

      # The deserializers of the route; the payload's may also read the headers.
      READERS = Lanes::Raw.new(->(message) { [message.raw_payload, message.headers] }, ->(message) { [message.raw_key] },
        ->(message) { message.raw_headers.merge("read" => "yes") })

      attr_reader :lane, :clock

      # @param features [Hash{Symbol => Boolean, Symbol}] the features that are on
      # @param seed [Integer]
      # @param count [Integer] records in the log
      def initialize(features, seed, count: 24)
        @names = features
        @seed = seed
        @random = Random.new(seed)
        @clock = VirtualClock.new(monotonic_ms: 0)
        @allowed, @ran, @written, @units, @busy, @outbox = {}, {}, {}, [], [], []
        @poison = {}
        write(count)
        assemble
      end

      def chance(share) = !@healed && @random.rand < share
      def pick(count) = @random.rand(count)
      def unwanted?(offset) = @names[:filter] && (offset % 5) == 3

      # Runs until the seed's time has passed. Then either all faults end and everything must complete, or the partition is lost.
      def run
        60.times { turn(pick(60)) }
        return lose if chance(0.2)
        heal
      end

      def inspect = "#<#{self.class} seed #{@seed}>"

      private

      # --- set-up

      def write(count)
        offset = pick(3)
        @rows = Array.new(count) do
          at = @clock.wall_ms - pick(400)
          row = Messages::MemoryBatch::Row.new(offset: offset, payload: "p#{offset}", key: ["a", "b", "c", nil][pick(4)],
            headers: {"number" => offset.to_s}, timestamp: at)
          @poison[offset] = true if @random.rand < 0.12
          offset += 1 + ((@random.rand < 0.2) ? pick(3) : 0)
          row
        end
        @end = offset
        @cursor = @rows.first.offset
      end

      def topic
        @topic ||= route(name: "orders", max_messages: 4, manual: @names[:manual], features: features, deserializers: READERS,
          pause: Lanes::Pause.new(20, 160, true)).tap { |route| ends(route) }
      end

      def ends(route)
        eofed = @names[:eofed]
        route.define_singleton_method(:eofed?) { eofed }
      end

      def features
        world = self
        {
          parallel: (Routing::Parallel.new(@names[:parallel], 3, nil, :rolling, :current) unless @names[:parallel] == :none),
          isolate: @names[:isolate], **ages,
          throttle: @names[:throttle] ? Routing::Throttle.new(6, 100) : nil,
          filter: @names[:filter] ? [Routing::Filter.new(->(_topic, _partition) { Whim.new(world) }, nil)] : nil,
          dead_letter_queue: @names[:dead_letters] ? Routing::DeadLetterQueue.new(topic: "dead", max_retries: pick(3)) : nil,
          breaker: @names[:breaker] ? breaking(after: 3) : false,
          batch: @names[:batch] ? Routing::Batch.new(3, 80) : nil
        }.compact
      end

      def ages
        {delay_by: (Routing::DelayBy.new(250) if @names[:delay]),
         expire_in: (Routing::ExpireIn.new(1_500) if @names[:expire])}
      end

      def assemble
        @queue = Execution::RunQueue.new
        @session = Runtime::ConnectionState.new(group: Group.new("group", [topic]), driver: self, orphaned_units: Runtime::OrphanedUnits.new,
          mailbox: Runtime::Mailbox.new, process: host)
        @topic_pipeline = Processing::TopicPipeline.new(topic, critical_errors: [], concurrency: 3, clock: @clock,
          breaker: Runtime::BreakerRegistry.new(@clock).of(topic))
        parts
        @lane = @topic_pipeline.lane("orders", 0, 1, self, suspects: nil)
        assign(@lane, source: self, slot: Execution::RunQueue::Slot.new("orders", nil, nil, width: @topic_pipeline.width),
          prepare_slot: (Execution::RunQueue::Slot.new("orders", nil, nil) if @lane.prepare))
        @lane.adopt(@cursor)
        @session.add(@lane)
        follow
      end

      def host = Host.new(@clock, @listener = Listener.new({}), @queue, Idle.new, Settings.new(1 << 20))

      def parts
        topic_pipelines = {topic => @topic_pipeline}
        @ports = Runtime::EffectContext.new(@session, Commits.new, nil, ->(error) { broken("stopped by #{error.inspect}") })
        @letters = @ports.dead_letters = Runtime::DeadLetters.new(@session, Commits.new, @ports)
        @breakers = Runtime::Breakers.new(@session, ->(lane, unit) { @queue.push(lane.assignment.slot, unit) })
        @breakers.add(@topic_pipeline.breaker) if @topic_pipeline.breaker
        @feeder = Runtime::Feeder.new(@session, topic_pipelines, @ports, ->(_topic) { 3 }, Unsuspecting.new)
        @settler = Runtime::Settler.new(@session, topic_pipelines, @ports, Runtime::Hooks.new(@queue, nil), nil)
      end

      # --- interface of the driver and of a source

      public

      attr_writer :cursor

      def id = 1

      def take(_request)
        rows = @rows.select { |row| row.offset >= @cursor }.first(1 + pick(7))
        from = @cursor
        @cursor = rows.last.offset + 1 unless rows.empty?
        last = @rows.last.offset < @cursor
        return [nil] if rows.empty? && @told_end == @cursor
        @told_end = last ? @cursor : nil
        [Messages::MemoryBatch.new("orders", 0, rows, from: from, to: @cursor, eof: last ? @cursor : nil, full: !last)]
      end

      def seek(_source, offset)
        @cursor = offset.negative? ? @rows.first.offset : offset
        @told_end = nil
      end

      def cached_watermarks(_topic, _partition) = [0, @end]

      private

      # --- a turn of the loop

      def turn(pass_ms)
        @clock.advance(pass_ms)
        settle_outcomes
        @session.run
        @letters.run
        @breakers.run
        @feeder.run.then { follow } # a seek that has waited
        work
        @lane.take_marks if chance(0.2)
        request if chance(0.02)
        check
      end

      def settle_outcomes
        arrived, @outbox = @outbox.partition { !@lane.by_key? || !chance(0.2) } # some outcomes overtake others
        arrived.each do |outcome|
          foresee(outcome)
          current = current?(outcome.unit)
          @settler.call(outcome)
          current ? sought(outcome.flow) : follow
        end
      end

      def work
        @busy << begin_unit(*@queue.take(wait: false)) while @busy.size < 3 && @queue.snapshot[:ready].positive?
        done, @busy = @busy.partition { @healed || chance(0.6) }
        done.each { |slot, unit| finish(slot, unit) }
      end

      # --- workers

      def begin_unit(slot, unit)
        in_order(unit) if unit.consume?
        not_buried(unit) if current?(unit)
        take_instance(unit)
        [slot, unit]
      end

      # No record before the unit's may still wait, and no other unit of its key may run at the same time.
      def in_order(unit)
        return unless current?(unit)
        same = ->(offset) { topic.features[:parallel].nil? || (@names[:parallel] == :key && key_of(offset) == unit.key) }
        beside = @busy.map(&:last).select { |other| other.consume? && current?(other) && other.key == unit.key }
        broken("two units of #{unit.key.inspect} at once") unless beside.empty?
        first = unit.messages.first_offset
        before = @lane.ledger.incomplete_offsets.select { |offset| offset < first && same.call(offset) && !@ran[offset] }
        broken("#{first} runs before #{before}") unless before.empty?
      end

      def key_of(offset)
        key = @rows.find { |row| row.offset == offset }.key
        key.nil? ? offset : key
      end

      def current?(unit) = unit.incarnation == @lane.incarnation && @lane.owned?

      def finish(slot, unit)
        outcome = unit.prepare? ? prepared(unit) : worked(unit)
        @queue.finished(slot, unit, outcome.stalls?)
        @outbox << outcome
      end

      def prepared(unit)
        prepared = @lane.prepare.call(unit.messages, @clock.monotonic_ms)
        Processing::Outcome.new(unit: unit, callback_results: prepared, finished: true, time_ms: 0)
      end

      # Goes through a unit of several calls as a worker does; a call that has returned is complete by a mark.
      def worked(unit)
        outcome = called(unit)
        while outcome.allows_next_call? && unit.rest && !unit.stretch.finished? && !chance(0.15)
          passed = unit.messages
          unit.begin_next_call
          (passed.first.mark_cell || unit.lane.marks).mark(passed.last_offset)
          passed.offsets.each { |offset| @allowed[offset] = true } if current?(unit)
          @stretched = true
          outcome = called(unit)
        end
        outcome
      end

      def called(unit)
        error = (walk(unit) if unit.consume?)
        blamed = error && unit.messages.blamed_offset
        results = callback_results(unit, blamed, error) if blamed && @names[:dead_letters]
        Processing::Outcome.new(unit: unit, error: error, blamed: blamed, flow: (flow(unit) if chance(0.06)),
          callback_results: results, finished: unit.messages.finished?, time_ms: 1, time_us: [20, 5_000][pick(2)])
      end

      # @return [Exception, nil]
      def walk(unit)
        remember(unit)
        messages = chance(0.1) ? unit.messages.to_a : unit.messages
        messages.each do |message|
          as_written(message)
          raise IOError, "no" if chance(@poison[message.offset] ? 0.9 : 0.05)
          mark(unit, message) if !gathers? && (@healed || chance(@names[:manual] ? 0.6 : 0.05))
        end
        gather(unit) if gathers?
        nil
      rescue IOError => error
        forget(unit) if gathers?
        error
      end

      def remember(unit)
        @units << unit
        return unless current?(unit) && @names[:manual]
        unit.messages.offsets.each { |offset| @ran[offset] = true }
      end

      def flow(unit)
        offset = unit.messages.empty? ? nil : unit.messages.offsets[pick(unit.messages.size)]
        case pick(4)
        when 0 then Consumer::Flow::Seek.new(@rows[pick(@rows.size)].offset, *([true, 40] if chance(0.3)))
        when 1 then Consumer::Flow::Pause.new(offset, 40)
        when 2 then Consumer::Flow::Pause.new(nil, nil)
        else Consumer::Flow::Pause.new(nil, 40)
        end
      end

      # User code asks for a pause, resume or seek outside of a unit.
      def request
        flow = [Consumer::Flow::Resume.new, Consumer::Flow::Pause.new(nil, 40),
          Consumer::Flow::Seek.new(@rows[pick(@rows.size)].offset)][pick(3)]
        @session.call_back(@lane)
        @topic_pipeline.request(@lane, flow, @clock.monotonic_ms).each { |effect| effect.perform(@lane, @ports) }
        sought(flow)
      end

      # If the lane was at that offset anyway, everything below is complete; otherwise a new incarnation has begun.
      def sought(flow)
        return follow unless flow.is_a?(Consumer::Flow::Seek) && @life == @lane.incarnation
        @rows.each { |row| @allowed[row.offset] = true if row.offset < flow.target } unless @lane.awaited_seek.limit
      end

      def callback_results(unit, blamed, error)
        offset = @names[:isolate] ? blamed : unit.messages.first_offset
        record = unit.messages.from_offset(offset).slice(0, 1).first
        as_written(record)
        attempt = (unit.messages.first_offset == offset) ? unit.attempt : 1
        letter = Processing::Failure::Letter.new(record: record, dispatch: {topic: "dead"}, kind: :dead_letter, attempt: attempt,
          producer: Producer.new(self), error: error)
        Processing::Failure::CallbackResults.new(offset: offset, letter: chance(0.1) ? nil : letter)
      end

      # --- the model

      # Records what an outcome makes complete, before it is settled.
      def foresee(outcome)
        unit = outcome.unit
        return unless unit.consume? && current?(unit) && outcome.error.nil? && !@names[:manual]
        return if outcome.flow.is_a?(Consumer::Flow::Seek)
        return leave(unit, outcome.flow) if outcome.flow.is_a?(Consumer::Flow::Pause)
        return if outcome.flow
        unit.messages.offsets.each { |offset| @allowed[offset] = true }
      end

      # A paused unit's records complete: in order with the next record that does, in parallel when the unit resumes after them.
      def leave(unit, flow)
        return if @names[:parallel] != :none && flow.offset.nil?
        unit.messages.offsets.each do |offset|
          next if flow.offset && offset >= flow.offset
          @ran[offset] = @names[:parallel] == :none
          @allowed[offset] = true
        end
      end

      # Called after anything that may have begun a new incarnation of the lane.
      def follow
        return if @life == @lane.incarnation
        @life = @lane.incarnation
        [@allowed, @listener.buried, @ran, @written].each(&:clear)
        @begins = @lane.ledger.base
      end

      def dropped?(row) = unwanted?(row.offset) || (@names[:expire] && @clock.wall_ms - row.timestamp > 1_500)

      # --- the end

      # The partition is lost: from then on nothing of the lane may change.
      def lose
        @lane.end_ownership!
        @session.call_back(@lane)
        @session.remove(@lane)
        version, base = @lane.ledger.version, @lane.ledger.base
        30.times do
          @clock.advance(50)
          settle_outcomes
          @letters.run
          work
          broken("the ledger changed after the loss") unless [version, base] == [@lane.ledger.version, @lane.ledger.base]
        end
        broken("#{@lane.in_flight} units are still in flight") unless @lane.in_flight.zero?
      end

      # Nothing fails any more, nobody pauses, everything is marked: then all records must be complete soon.
      def heal
        @healed = true
        600.times do
          effects = @topic_pipeline.request(@lane, Consumer::Flow::Resume.new, @clock.monotonic_ms)
          effects.each { |effect| effect.perform(@lane, @ports) }
          (gathers? ? write_all : mark_all) if @names[:manual]
          turn(100)
          return if done?
        end
        broken("the records don't complete: #{@lane.snapshot} #{named_places}")
      end

      # The records that a paused unit left complete with the next unit that ends, if there is one.
      def done?
        return false unless @rows.last.offset < @cursor && @lane.idle? && places.empty?
        left = @lane.ledger.incomplete_offsets # with manual offsets a dead-lettered record completes with a later mark
        left.empty? || left.all? { |offset| @names[:manual] ? @listener.buried[offset] : @ran[offset] }
      end

      # Marks the records that ran before and were not marked then.
      def mark_all
        return if @names[:parallel] == :none && !places.empty?
        @units.select { |unit| current?(unit) }.each { |unit| unit.messages.each { |message| mark(unit, message) } }
        @lane.take_marks
      end

      def peek(object, name) = object.instance_variable_get(name)

      def broken(what)
        raise Violation, "#{what} (seed #{@seed}, #{@names.select { |_name, value| value && value != :none }})"
      end
    end
  end
end
