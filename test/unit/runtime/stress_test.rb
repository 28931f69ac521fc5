# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/mailbox"
require "penstock/execution/run_queue"
require "penstock/runtime/threads"
require "penstock/execution/threads/pool"

module Penstock
  # The real run queue, real workers and real lanes under a small loop that takes, settles, calls back, relieves and interrupts
  # at random. `STRESS_SEED=n` repeats its choices; the interleaving of threads varies.
  class StressTest < TestCase
    include TestSupport::Lanes

    SECONDS = 2.0
    KEYS = %w[a b c d e].freeze
    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    # The order that user code sees: no unit at the same time as another of its key, none before its turn. Written by workers.
    class Witness
      attr_reader :wrongs, :done

      def initialize
        @lock = Mutex.new
        @busy = {}
        @next = Hash.new { |all, place| all[place] = [] }
        @wrongs = []
        @done = Hash.new(0)
      end

      def expect(place, offset) = @lock.synchronize { @next[place] << offset }

      def begins(place, offsets)
        @lock.synchronize do
          @wrongs << "#{place} runs twice at once" if @busy[place]
          turn = @next[place].first(offsets.size)
          @wrongs << "#{place} #{offsets} out of turn, next #{turn}" unless turn == offsets
          @busy[place] = true
        end
      end

      def ends(place, offsets, well)
        @lock.synchronize do
          @busy.delete(place)
          next unless well
          @next[place].shift(offsets.size)
          offsets.each { |offset| @done[[place.first, offset]] += 1 }
        end
      end
    end

    # Random user code: quick, slow, failing, ending its thread.
    class Runner
      attr_writer :calm

      def initialize(witness, seed)
        @witness = witness
        @random = Random.new(seed)
        @lock = Mutex.new
        @pause = ConditionVariable.new
      end

      def call(_slot, unit)
        ended = once(unit)
        while ended.allows_next_call? && unit.rest && !unit.stretch.finished? && @lock.synchronize { @random.rand(8) }.positive?
          ended = on(unit)
        end
        ended
      end

      def broken(unit) = outcome(unit, InternalError.new("the thread ended"), 0)

      private

      def on(unit)
        passed = unit.messages.last_offset
        unit.begin_next_call
        unit.lane.marks.mark(passed)
        once(unit)
      end

      def once(unit)
        place = [unit.lane.partition, unit.key]
        offsets = unit.messages.offsets
        @witness.begins(place, offsets)
        started = now
        error = well = nil
        begin
          Thread.handle_interrupt(Exception => :immediate) { work }
          well = true
        rescue StandardError, Interrupted => e
          error = e
        end
        outcome(unit, error, now - started)
      ensure
        @witness.ends(place, offsets, well)
      end

      def work
        case @lock.synchronize { @random.rand(@calm ? 80 : 200) }
        when 0..2 then @lock.synchronize { @pause.wait(@lock, 0.006) }
        when 3..10 then Thread.pass
        when 190..198 then raise "by chance"
        when 199 then Thread.exit
        end
      end

      def outcome(unit, error, took)
        blamed = error && unit.messages.first_offset
        Processing::Outcome.new(unit: unit, error: error, blamed: blamed, finished: true, time_ms: took / 1_000, time_us: took)
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :microsecond)
    end

    def setup
      @seed = Integer(ENV.fetch("STRESS_SEED", Random.new_seed % 1_000_000))
      @random = Random.new(@seed)
      @witness = Witness.new
      @runner = Runner.new(@witness, @seed)
      @queue = Execution::RunQueue.new(->(topic) { (topic == "keyed") ? 3 : 4 })
      @died = []
      @threads = Runtime::Threads.new(->(name, error) { @died << [name, error] })
      @pool = Execution::Threads::Pool.new(queue: @queue, runner: @runner, threads: @threads, concurrency: 4, priority: 0)
      @mailbox = Runtime::Mailbox.new
      @out = {}.compare_by_identity
      @wrongs = []
      @lanes = [{}, {}, keyed(4), keyed(4), keyed(1)].each_with_index.map do |features, partition|
        made(features.empty? ? "whole" : "keyed", partition, features)
      end
    end

    def keyed(width) = {parallel: Parallel.new(:key, width, nil, false)}

    def teardown = @pool.close(5)

    def made(name, partition, features)
      topic = route(name: name, max_messages: 5, features: features, pause: Pause.new(1, 3, true))
      @topic_pipelines ||= {}
      @topic_pipelines[topic.object_id] = topic_pipeline = topic_pipeline(topic)
      topic_pipeline.lane(name, partition, 1).tap do |lane|
        lane.adopt(0)
        width = topic_pipeline.width
        assign(lane, slot: Execution::RunQueue::Slot.new(name, nil, @mailbox, width: width, ordered: !lane.by_key?))
      end
    end

    def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :millisecond)

    test "each unit has one outcome, keys stay apart and in order, and no unit is left" do
      ends = now + SECONDS * 1_000
      turn(true) while now < ends && @wrongs.empty? && @witness.wrongs.empty?
      @runner.calm = true
      ends = now + 20_000
      turn(false) until @lanes.all? { |lane| lane.idle? && lane.ledger.dry? } || now > ends || @wrongs.any?
      assert_at_rest
    end

    def assert_at_rest
      assert_equal [[], []], [@wrongs, @witness.wrongs], "seed #{@seed}"
      assert(@lanes.all? { |lane| lane.idle? && lane.ledger.dry? }, "seed #{@seed}: #{@lanes.map(&:snapshot)} #{@queue.snapshot}")
      assert_operator @witness.done.size, :>, 500
      assert_equal @lanes.sum { |lane| lane.ledger.tail }, @witness.done.size
      slots = @lanes.map { |lane| lane.assignment.slot }
      assert_equal [0, []], [slots.sum(&:running), slots.flat_map(&:pending)]
      assert @pool.close(10), "seed #{@seed}: a worker didn't end"
      wait_until { @threads.living.empty? }
      assert_empty @died
      assert_equal({ready: 0, hooks: 0, idle_workers: 0, running: 0}, @queue.snapshot)
    end

    # The actions of the loop, one per turn.
    def turn(wild)
      first = @mailbox.wait(2)
      [first, *@mailbox.take_all].compact.each { |outcome| settle_one(outcome) }
      chance(wild)
      @pool.grow(@queue.release_stuck(now, 2)) if @queue.quick_units?
      @lanes.shuffle(random: @random).each { |lane| feed(lane, wild) }
    end

    def settle_one(outcome)
      unit = outcome.unit
      lane = unit.lane
      return @wrongs << "an outcome of a unit that wasn't handed out: #{unit.messages.offsets}" unless @out.delete(unit)
      lane.returned(unit)
      unit.record_time(outcome.time_us)
      call_back(lane, unstall: true) if !lane.by_key? && outcome.stalls?
      unit.requeue_rest
      @topic_pipelines.fetch(lane.topic.object_id).settle(lane, outcome, now).each { |effect| effect.perform(lane, self) }
    end

    def emit(_name, _payload) = nil

    def call_back(lane, unstall: false)
      units = @queue.withdraw(lane.assignment.slot, unstall: unstall)
      units.each { |unit| @wrongs << "called back twice" unless @out.delete(unit) }
      lane.put_back(units)
    end

    def chance(wild)
      return unless wild
      case @random.rand(30)
      when 0 then call_back(@lanes.sample(random: @random))
      when 1 then @pool.interrupt(@lanes.sample(2, random: @random))
      when 2 then @pool.scale(@random.rand(1..4))
      end
    end

    def feed(lane, wild)
      lane.holds.expire(now)
      lane.division.expire(now)
      take(lane) if wild && lane.wanted.positive?
      units = []
      while (lane.by_key? || units.size < 3) && (unit = lane.next_unit)
        units << unit
        @out[unit] = true
      end
      return if units.empty?
      lane.assignment.slot.quick = lane.by_key? && lane.division.pace.quick?
      @pool.grow(@queue.push(lane.assignment.slot, *units))
    end

    def take(lane)
      from = lane.ledger.tail
      rows = Array.new(@random.rand(1..[lane.wanted, 60].min)) do |index|
        key = KEYS.sample(random: @random)
        @witness.expect([lane.partition, (key if lane.by_key?)], from + index)
        Messages::MemoryBatch::Row.new(offset: from + index, payload: "p", key: key, leader_epoch: 0)
      end
      admit(lane, Messages::MemoryBatch.new(lane.topic_name, lane.partition, rows, from: from, full: true))
    end
  end
end
