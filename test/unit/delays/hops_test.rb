# frozen_string_literal: true

require "test_helper"
require "penstock/cautious_clock"
require "penstock"
require "support/virtual_clock"
require "penstock/delays/delayed_message"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/admission/due"
require "penstock/processing/admission/selection"
require "penstock/routing/delay_tiers"

module Penstock
  # The way of messages through the tiers, on a virtual clock: each tier is a queue with the real admission.
  class HopsTest < TestCase
    DAY_MS = 86_400_000
    TIERS = Routing::DelayTiers.new("shop", Routing::DelayTiers::DELAYS)
    # Duration of a hop.
    HOP_MS = (3..20)

    # Records that wait, by topic, and their arrivals.
    class Cluster
      Row = Messages::MemoryBatch::Row

      attr_reader :arrived, :hops

      def initialize(clock, random)
        @clock = clock
        @random = random
        @queues = Hash.new { |queues, topic| queues[topic] = [] }
        @steps = TIERS.each.to_h { |tier| [tier.topic, Processing::Admission::Due.new(tier.due_within_ms, CautiousClock.new)] }
        @arrived = {}
        @hops = Hash.new { |hops, id| hops[id] = [] }
        @offset = 0
      end

      def write(message)
        @queues[message[:topic]] << Row.new(offset: @offset += 1, payload: message[:payload], headers: message[:headers])
      end

      # Moves everything on that may leave now.
      # @return [Integer, nil] ms until the next record may
      def turn
        @steps.filter_map { |topic, step| @queues[topic].empty? ? nil : look(topic, step) }.min
      end

      private

      def look(topic, step)
        rows = @queues[topic]
        selection = Processing::Admission::Selection.new(Messages.new(Messages::MemoryBatch.new(topic, 0, rows.first(50))))
        step.call(selection, @clock.monotonic_ms, @clock.wall_ms)
        run = selection.run
        rows.shift(run.messages.size)
        run.messages.each { |record| move(Delays::DelayedMessage.read(record)) }
        run.messages.empty? ? run.hold.last - @clock.monotonic_ms : 0 # moved records may be due in a topic that was looked at
      end

      def move(delayed)
        now = @clock.wall_ms + @random.rand(HOP_MS)
        left = delayed.until_ms - now
        return @arrived[delayed.id] = now unless left.positive?
        @hops[delayed.id] << now
        write(delayed.waiting(left, TIERS, now))
      end
    end

    test "a month takes at most 29 hops in any day, and ends less than 1.5 s late and never early" do
      durations = [30 * DAY_MS, (31 * DAY_MS) - 1_001, (30 * DAY_MS) + (DAY_MS - 1_001)]
      run = travel(durations.map { |duration| [0, duration] })

      run.each do |_late, hops|
        days = hops.map { |time| hops.count { |other| other.between?(time, time + DAY_MS - 1) } }
        assert_operator days.max, :<=, 29
      end
      assert_operator run.map { |_late, hops| hops.size }.max, :<=, 30 + 29
      assert_equal [29], [travel([[0, DAY_MS - 1_030]]).first.last.size + 1], "the longest way: the first record and 28 hops"
    end

    test "a thousand messages: none is early, none more than a second late, plus the hop" do
      random = Random.new(41)
      plan = Array.new(1_000) { [random.rand(60_000), 10**random.rand(2.0..6.5)].map(&:to_i) }
      lates = travel(plan, random: random).map(&:first)

      assert_operator lates.min, :>=, 0
      assert_operator lates.max, :<=, 1_000 + HOP_MS.max + 5
    end

    test "an hour, a day, ten minutes: one hop, although scheduling takes time itself" do
      [600_000, 3_600_000, DAY_MS].each { |wait| assert_equal wait, TIERS.for(wait - 5).delay_ms }
    end

    private

    # @param plan [Array<(Integer, Integer)>] when each is scheduled, and how long it waits
    # @return [Array<(Integer, Array<Integer>)>] how late each is, and the times of its hops
    def travel(plan, random: Random.new(7))
      clock = VirtualClock.new
      cluster = Cluster.new(clock, random)
      start = clock.wall_ms
      coming = plan.sort.map { |at, wait| [start + at, wait] }
      sent = {}
      until coming.empty? && cluster.arrived.size == sent.size
        send_now(coming, clock, cluster, sent)
        pause = cluster.turn
        pause = [pause, coming.first && coming.first.first - clock.wall_ms].compact.min
        clock.advance([pause.to_i, 1].max) unless coming.empty? && cluster.arrived.size == sent.size
      end
      sent.map { |id, due| [cluster.arrived.fetch(id) - due, cluster.hops[id]] }
    end

    def send_now(coming, clock, cluster, sent)
      while coming.any? && coming.first.first <= clock.wall_ms
        _at, wait = coming.shift
        now = clock.wall_ms
        delayed = Delays::DelayedMessage.new_for({topic: "t", payload: "p"}, now + wait)
        sent[delayed.id] = now + wait
        cluster.write(delayed.waiting(wait, TIERS, now))
      end
    end
  end
end
