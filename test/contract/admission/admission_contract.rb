# frozen_string_literal: true

require "penstock"
require "penstock/processing/filters/base"
require "support/consuming"

module Penstock
  # Everything between a partition and `consume`, with any broker. Including modules define `kafka` (settings for the broker).
  module AdmissionContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []

    def self.add_to(base)
      base.include(self)
      RULES.each { |name, body| base.test(name, &body) }
    end

    # Requests the given action, once, at an offset.
    class Once < Filter
      attr_reader :action, :timeout, :asked, :asked_at

      def initialize(action, at, timeout: nil)
        super()
        @action, @at, @timeout, @asked = action, at, timeout, 0
      end

      def apply!(messages)
        @cursor = messages.find { |message| message.offset >= @at }
        @applied = !@cursor.nil? && @asked.zero?
        return unless applied?
        @asked += 1
        @asked_at = Clock::SYSTEM.monotonic_ms
        messages.reject! { |message| message.offset < @at } unless @keep
      end

      # Keeps the earlier messages of the batch.
      def keeping = tap { @keep = true }
    end

    rule "[filter apply] messages that a filter removes aren't consumed, and the rest is, in order" do
      topic, seen = topic_with(50), queue
      running = consuming(topic, ->(_) { filter { |message| message.raw_payload.to_i.even? } }) do
        messages.each { |message| seen << message.offset }
      end

      assert_equal (0...50).step(2).to_a, take(seen, 25)
      assert_equal 0, running.stop
      assert_equal 50, committed(topic)
      assert_empty seen
    end

    rule "[filter marking] when everything is filtered the offset moves and no user code runs, also with manual offsets" do
      topic, seen, dropped = topic_with(20), queue, queue
      running = consuming(topic, ->(_) { [manual_offset_management(true), filter { false }] }) { seen << messages.size }
      running.application.monitor.subscribe("filtering.dropped") { |event| dropped << event[:last_offset] }
      wait_until(10, "all are dropped", state: -> { running.application.snapshot }) { !dropped.empty? && dropped.pop == 19 }
      running.stop

      assert_equal 20, committed(topic)
      assert_empty seen
    end

    rule "[filter pause/seek] a pause holds the partition for its time, without user code; then it continues at that offset" do
      topic, seen = topic_with(10), queue
      filter = Once.new(:pause, 4, timeout: 400)
      consuming(topic, ->(_) { filter ->(_topic, _partition) { filter } }) do
        messages.each { |message| seen << [message.offset, Clock::SYSTEM.monotonic_ms] }
      end
      offsets, times = take(seen, 6).transpose

      assert_equal (4..9).to_a, offsets
      assert_operator times.min - filter.asked_at, :>=, 400
    end

    rule "[filter timeouts] a shorter wait of another kind doesn't shorten a filter's pause" do
      topic, seen = topic_with(10), queue
      filter = Once.new(:pause, 4, timeout: 800).keeping
      consuming(topic, ->(_) { [throttle(limit: 2, interval: 50), filter(->(_topic, _partition) { filter })] }) do
        messages.each { |message| seen << [message.offset, Clock::SYSTEM.monotonic_ms] }
      end
      times = take(seen, 10).to_h

      assert_equal (0..9).to_a, times.keys
      assert_operator times[4] - filter.asked_at, :>=, 800
    end

    rule "[filter pause/seek] a seek continues at its offset, also backwards" do
      topic, seen = topic_with(10), queue
      filter = Once.new(:seek, 7)
      running = consuming(topic, ->(_) { filter ->(_topic, _partition) { filter } }) do
        messages.each { |message| seen << message.offset }
      end

      assert_equal [7, 8, 9], take(seen, 3)
      running.stop
      assert_equal 10, committed(topic)
    end

    # Seeks back to the first message it ever saw, once, when it sees that offset.
    class Back < Filter
      def initialize(at)
        super()
        @at = at
      end

      def apply!(messages)
        @cursor ||= messages.first
        @applied = @at && messages.any? { |message| message.offset == @at }
        @at = nil if applied?
      end

      def applied? = @applied || false
      def action = :seek
    end

    rule "[filter pause/seek] a seek back repeats the messages in between, and commits no further meanwhile" do
      topic, seen = topic_with(5), queue
      filter = Back.new(5)
      running = consuming(topic, ->(_) { filter ->(_topic, _partition) { filter } }) do
        messages.each { |message| seen << message.offset }
      end
      assert_equal (0..4).to_a, take(seen, 5)
      produce(topic, %w[again])

      assert_equal (0..5).to_a, take(seen, 6)
      running.stop
      assert_equal 6, committed(topic)
    end

    rule "[user beats system] a user's pause takes precedence over a filter's seek" do
      topic, seen, paused = topic_with(10), queue, [false]
      filter = Once.new(:seek, 7).keeping
      consuming(topic, ->(_) { filter ->(_topic, _partition) { filter } }) do
        messages.each { |message| seen << message.offset }
        pause(3, 50) unless paused.first
        paused[0] = true
      end

      assert_equal [*0..6, *3..9], take(seen, 14)
    end

    rule "[LRJ + filter skip] a partition continues after the messages that a filter removed" do
      topic, seen = topic_with(5), queue
      consuming(topic, ->(_) { [long_running_job(true), filter { |message| message.raw_payload == "more" }] }) do
        messages.each { |message| seen << message.offset }
      end
      produce(topic, %w[more less more])

      assert_equal [5, 7], take(seen, 2)
    end

    rule "a filter that raises loses nothing" do
      topic, seen, failures = topic_with(10), queue, [1, 2]
      running = consuming(topic, ->(_) { filter { |_message| failures.pop ? raise("no database") : true } }) do
        messages.each { |message| seen << message.offset }
      end

      assert_equal (0..9).to_a, take(seen, 10)
      assert_equal ["filtering.error"] * 2, Array.new(2) { running.errors.pop[:type] }
    end

    rule "[VP partitioner error] a partitioner that raises loses nothing" do
      topic, seen, failures = topic_with(10), queue, [1, 2]
      running = consuming(topic, ->(_) { parallel { |message| failures.pop ? raise("no tenant") : message.offset % 3 } }) do
        messages.each { |message| seen << message.offset }
      end

      assert_equal (0..9).to_a, take(seen, 10).sort
      assert_equal ["virtual_partitions.partitioner.error"] * 2, Array.new(2) { running.errors.pop[:type] }
    end

    rule "[VP partitioner error] a partitioner that returns two different keys is reported once, and loses nothing" do
      topic, seen, answers = topic_with(10), queue, 0
      running = consuming(topic, ->(_) { parallel { |_message| answers += 1 } }) do
        messages.each { |message| seen << message.offset }
      end

      assert_equal (0..9).to_a, take(seen, 10).sort
      produce(topic, %w[10 11 12]) # another batch, whose first key is also computed twice if nothing was reported yet
      assert_equal [10, 11, 12], take(seen, 3).sort
      running.stop
      assert_equal 13, committed(topic)
      told = all(running.errors)
      assert_equal ["virtual_partitions.partitioner.error"], told.map { |each| each[:type] }
      assert_includes told.first[:error].message, "two different keys"
    end

    rule "[delay_by] no record is consumed before it is due" do
      topic, seen = topic_with(5), queue
      consuming(topic, ->(_) { delay_by 600 }) do
        messages.each { |message| seen << [message.offset, Clock::SYSTEM.wall_ms - message.timestamp_ms] }
      end
      offsets, ages = take(seen, 5).transpose

      assert_equal (0..4).to_a, offsets
      assert_operator ages.min, :>=, 600
    end

    rule "[expire_in] expired records aren't consumed, and the offset moves" do
      topic, seen, dropped = topic_with(0), queue, queue
      produce(topic, Array.new(5, "old"), aged_s: 61)
      running = consuming(topic, ->(_) { expire_in 60_000 }) { messages.each { |message| seen << message.offset } }
      running.application.monitor.subscribe("filtering.dropped") { |event| dropped << event[:reason] }
      assert_equal %w[expired], take(dropped, 1)
      produce(topic, %w[fresh])

      assert_equal [5], take(seen, 1)
      running.stop
      assert_equal 6, committed(topic)
    end

    # Runs an application whose records expire after a minute; a record called poison fails when allowed to. It is consuming
    # when this returns.
    def expiring(topic, seen, may_fail, **division)
      running = consuming(topic, ->(_) { [expire_in(60_000), (parallel(**division) unless division.empty?)] }) do
        seen << messages.first.raw_payload
        may_fail.pop && raise("no") if messages.first.raw_payload == "poison"
      end
      produce(topic, %w[first])
      take(seen, 1)
      running
    end

    NEARLY = 57 # seconds: leaves time for a first attempt, and soon none for a second
    UNTIL_EXPIRED = 3.1
    private_constant :NEARLY, :UNTIL_EXPIRED

    rule "[expire_in] a record that expires before its next attempt isn't tried again" do
      topic, seen, may_fail = topic_with(0), queue, queue
      running = expiring(topic, seen, may_fail)
      produce(topic, %w[poison], aged_s: NEARLY)
      assert_equal %w[poison], take(seen, 1)
      produce(topic, %w[next], aged_s: NEARLY)
      observe_for(UNTIL_EXPIRED)
      may_fail << true
      produce(topic, %w[last])

      assert_equal "last", take(seen, 1).first
      running.stop
      assert_equal 4, committed(topic)
    end

    rule "[expire_in] records also expire by key, and no other key waits for them" do
      topic, seen, may_fail = topic_with(0), queue, queue
      running = expiring(topic, seen, may_fail, by: :message)
      produce(topic, %w[poison next], aged_s: NEARLY)

      assert_equal %w[next poison], take(seen, 2).sort
      observe_for(UNTIL_EXPIRED)
      may_fail << true
      wait_until(20, "the offset behind it") { running.application.snapshot.first[:lanes].first[:base] == 3 }
      running.stop
      assert_equal [3, true], [committed(topic), seen.empty?]
    end

    rule "[throttle] no interval has more records than the limit" do
      topic, seen = topic_with(1), queue
      consuming(topic, ->(_) { throttle limit: 5, interval: 300 }) do
        messages.each { |message| seen << message.offset }
      end
      take(seen, 1)
      began = Clock::SYSTEM.monotonic_ms
      produce(topic, Array.new(20, &:to_s))

      assert_equal (1..20).to_a, take(seen, 20)
      assert_operator Clock::SYSTEM.monotonic_ms - began, :>=, 3 * 300, "four times five records need three intervals"
    end

    rule "[throttle per key] a key never has more than its limit in an interval, and others don't wait for it" do
      topic, seen = topic_with(0), queue
      produce_keyed(topic, Array.new(12) { |index| ["hot", index.to_s] } + [%w[cold a], %w[cold b]])
      consuming(topic, ->(_) { [parallel(by: :key), throttle(limit: 4, interval: 600, per: :key)] }, concurrency: 2) do
        messages.each { |message| seen << [message.raw_key, message.offset, Clock::SYSTEM.monotonic_ms] }
      end
      all = take(seen, 14)
      hot = all.select { |key, _offset, _at| key == "hot" }
      cold = all.select { |key, _offset, _at| key == "cold" }
      assert_equal (0..11).to_a, hot.map { |_key, offset, _at| offset }
      assert_operator hot.last.last - hot.first.last, :>=, 600,
        "three times four records need two intervals; the first may start late"
      assert_operator cold.last.last, :<, hot[8].last
    end

    rule "a waiting partition doesn't block others" do
      topic, seen = unique("topic"), queue
      create_topic(topic, 2)
      produce(topic, %w[a], partition: 0)
      produce(topic, %w[b], partition: 1)
      filter = ->(_topic, partition) { partition.zero? ? Once.new(:pause, 0, timeout: 60_000) : Once.new(:skip, 99) }
      running = consuming(topic, ->(_) { filter filter }) { messages.each { |message| seen << message.raw_payload } }

      assert_equal %w[b], take(seen, 1)
      assert_equal 0, running.stop
      assert_empty seen
    end

    rule "a stop doesn't wait for waiting records, and loses none of them" do
      topic, seen = topic_with(5), queue
      running = consuming(topic, ->(_) { delay_by 60_000 }) { seen << messages.size }
      observe_for(0.3)
      assert_equal 0, running.stop
      assert_includes [nil, -1001, 0], committed(topic)
      consuming(topic) { messages.each { |message| seen << message.offset } }

      assert_equal (0..4).to_a, take(seen, 5)
    end
  end
end
