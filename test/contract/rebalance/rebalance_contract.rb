# frozen_string_literal: true

require "support/consuming"

module Penstock
  # Partitions that are revoked and assigned again, with any broker. Including modules define `kafka`, and what depends on the
  # broker: `lose(member, topic)` takes the partitions of an application away without a revocation (it was run with the
  # settings of `loser`); `assert_once` checks for duplicates; `attempts_kept(last)` is the attempt with which the next owner
  # may begin.
  module RebalanceContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    HASTY = {"heartbeat.interval.ms": 200, "auto.commit.interval.ms": 100}.freeze

    # One member of the group; `who` is its name in the block.
    def member(topic, who, options = ->(_route) {}, hooks: {}, kafka: {}, **settings, &consume)
      consuming(topic, options, hooks: {who: -> { who }, **hooks}, kafka: {**HASTY, **kafka}, **settings, &consume)
    end

    # A topic of two partitions with this many records each.
    def two_partitions(count)
      topic_with(count, partitions: 2).tap { |topic| produce(topic, Array.new(count, &:to_s), partition: 1) }
    end

    def lanes_of(running) = running.application.snapshot.flat_map { |one| one[:lanes].map { |lane| lane[:partition] } }.sort

    # @param expected [Array<Integer>] number of partitions of the running members, in their order
    def await_lanes(*expected)
      wait_until(60, "#{expected} partitions", state: -> { @running.map { |running| lanes_of(running) } }) do
        @running.select(&:alive?).map { |running| lanes_of(running).size } == expected
      end
    end

    rule "a partition is handed over when its running units have ended, and the next owner continues after them" do
      topic, begun, seen = two_partitions(1), queue, queue
      work = proc do
        messages.each do |message|
          begun << who
          TestSupport::Wait.observe_for(1)
          seen << [who, message.partition, message.offset]
        end
      end
      member(topic, :first, &work)
      take(begun, 2)
      member(topic, :second, &work)
      await_lanes(1, 1)
      2.times { |partition| produce(topic, %w[1], partition: partition) }
      wait_until(20, "the new ones", state: -> { seen.size }) { seen.size >= 4 }
      observe_for(1.2)
      runs = Array.new(seen.size) { seen.pop }

      assert_equal [[0, 0], [0, 1], [1, 0], [1, 1]], runs.map { |run| run[1, 2] }.uniq.sort
      assert_equal %i[first second], runs.select { |run| run.last == 1 }.map(&:first).sort
      assert_once(runs.map { |run| run[1, 2] })
    end

    rule "a unit that outlasts the drain runs on, sees the loss, its marks return false, and the next owner runs it again" do
      topic, begun, marks, release, told = two_partitions(1), queue, queue, queue, queue
      stuck = member(topic, :stuck, revocation_drain: 300) do
        begun << [who, messages.first.partition]
        release.pop
        marks << [messages.first.partition, revoked?, mark_as_consumed(messages.first)]
      end
      stuck.application.monitor.subscribe("rebalance.unit_left_running") { |event| told << event }
      take(begun, 2)
      member(topic, :next) { begun << [who, messages.first.partition] }
      who, moved = take(begun, 1, 60).first

      assert_equal :next, who
      assert_equal [[moved, 0]], take(told, 1).map { |event| event.payload.values_at(:partition, :first_offset) }
      2.times { release << true }
      assert_equal [[moved, true, false], [1 - moved, false, true]].sort_by(&:first), take(marks, 2).sort_by(&:first)
    end

    rule "interruptible: a unit that outlasts the drain is interrupted instead, and its hook follows" do
      topic, begun, seen = two_partitions(1), queue, queue
      hooks = {revoked: -> { seen << [:hook, partition] }}
      member(topic, :stuck, ->(_route) { interruptible }, hooks: hooks, revocation_drain: 300) do
        begun << [who, messages.first.partition]
        loop { TestSupport::Wait.observe_for(0.05) }
      rescue Interrupted
        seen << [mark_as_consumed(messages.first), messages.first.partition]
        raise
      end
      take(begun, 2)
      member(topic, :next) { begun << [who, messages.first.partition] }
      who, moved = take(begun, 1, 60).first

      assert_equal :next, who
      assert_equal [[false, moved], [:hook, moved]], take(seen, 2)
    end

    rule "[LRJ revoked? live] on a lost partition revoked? changes at once, marks return false, and the hook runs afterwards" do
      topic, begun, release, seen = topic_with(1), queue, queue, queue
      losing = member(topic, :losing, hooks: {revoked: -> { seen << [:hook, revoked?] }}, **loser) do
        begun << true
        TestSupport::Wait.wait_until(60, "revoked?") { revoked? }
        seen << [:marks, mark_as_consumed(messages.first), mark_as_consumed!(messages.first),
          mark_as_consumed(messages.first, "page 7")]
        release.pop
        seen << [:end]
      end
      take(begun, 1)
      lose(losing, topic)
      assert_equal [[:marks, false, false, false]], take(seen, 1, 60)
      assert_operator committed(topic), :<=, 0
      release << true
      assert_equal [[:end], [:hook, true]], take(seen, 2)
    ensure
      5.times { release&.push(true) }
    end

    rule "[rebalance mid-poll] records taken from a revoked partition are dropped: only its next owner runs them" do
      topic, seen, release = two_partitions(20), queue, queue
      work = proc do
        seen << [who, messages.first.partition, messages.first.offset]
        release.pop if who == :first
      end
      member(topic, :first, concurrency: 1, max_messages: 1, revocation_drain: 300, &work)
      rows = take(seen, 1)
      member(topic, :second, max_messages: 1, &work)
      rows.concat(take(seen, 20, 60))
      release.close
      rows.concat(take(seen, 19))
      rows << seen.pop until rows.map { |_who, *place| place }.uniq.size == 40
      first, second = rows.drop(1).partition { |who, *| who == :first }
      moved = second.first[1]

      assert_equal (0...20).to_a, second.map(&:last)
      assert_equal [1 - moved], first.map { |_who, partition, _offset| partition }.uniq
    end

    rule "[LRJ shutdown] a stop waits for a job longer than the session timeout, with heartbeats, and keeps its partition" do
      topic, seen = topic_with(1), queue
      patient = {kafka: {"session.timeout.ms": 6_000}, shutdown_timeout: 30_000}
      stopping = member(topic, :stopping, **patient) do
        seen << [who, :begins]
        TestSupport::Wait.observe_for(8)
        seen << [who, :ends]
      end
      assert_equal [[:stopping, :begins]], take(seen, 1)
      member(topic, :other, **patient) { seen << [who, messages.map(&:offset)] }
      stopping.application.stop!
      assert_equal [[:stopping, :ends]], take(seen, 1, 20)
      assert_equal [0, 1], [stopping.code, committed(topic)]
      produce(topic, %w[1])

      assert_equal [[:other, [1]]], take(seen, 1, 60)
    end

    rule "a user's pause belongs to the assignment: it stays with a partition that stays, and ends when the partition leaves" do
      topic, seen = two_partitions(2), queue
      paused = {}
      first = member(topic, :first, max_messages: 1) do
        seen << [who, messages.first.partition, messages.first.offset]
        mark_as_consumed(messages.first)
        pause(1, 600_000) unless paused[messages.first.partition]
        paused[messages.first.partition] = true
      end
      assert_equal [[:first, 0, 0], [:first, 1, 0]], take(seen, 2).sort
      2.times { |partition| wait_until(10, "a commit") { committed(topic, partition) == 1 } }
      second = member(topic, :second, max_messages: 1) { seen << [who, messages.first.partition, messages.first.offset] }
      who, moved, offset = take(seen, 1, 60).first
      assert_equal [:second, 1], [who, offset]
      await_lanes(1, 1)
      second.stop
      await_lanes(2)
      2.times { |partition| produce(topic, %w[2], partition: partition) }

      assert_equal [[:first, moved, 2]], take(seen, 1)
      observe_for(0.5)
      assert_empty seen
      assert_equal [0, 1], lanes_of(first)
    end

    rule "[persistent instance] a partition that left and came back has a new consumer; one that stayed keeps its own" do
      topic, seen = two_partitions(1), queue
      work = proc do
        @calls = @calls.to_i + 1
        seen << [who, messages.first.partition, @calls]
      end
      member(topic, :first, max_messages: 1, &work)
      assert_equal [[:first, 0, 1], [:first, 1, 1]], take(seen, 2).sort
      2.times { |partition| wait_until(10, "a commit") { committed(topic, partition) == 1 } }
      second = member(topic, :second, max_messages: 1, &work)
      await_lanes(1, 1)
      moved = lanes_of(second).first
      2.times { |partition| produce(topic, %w[1], partition: partition) }
      runs = take_runs(seen, [:first, 1 - moved, 2], [:second, moved, 1])
      second.stop
      await_lanes(2)
      2.times { |partition| produce(topic, %w[2], partition: partition) }
      runs += take_runs(seen, [:first, moved, 1], [:first, 1 - moved, 3])

      refute_includes runs, [:first, moved, 2]
    end

    # Everything that was seen up to the last of the expected runs.
    def take_runs(seen, *expected)
      runs = []
      wait_until(60, expected.inspect, state: -> { runs }) do
        runs << seen.pop until seen.empty?
        (expected - runs).empty?
      end
      runs
    end

    rule "a record being retried keeps its attempts when its partition moves" do
      topic, seen = two_partitions(1), queue
      work = proc do
        seen << [who, messages.first.partition, attempt]
        raise "not yet"
      end
      member(topic, :first, **PATIENT, &work)
      wait_until(20, "two attempts each") { seen.size >= 4 }
      wait_until(10, "commits", state: -> { seen.size }) { [0, 1].all? { |partition| committed(topic, partition) == 0 } }
      member(topic, :second, **PATIENT, &work)
      runs = []
      wait_until(60, "a run of the second", state: -> { runs }) do
        runs << seen.pop until seen.empty?
        runs.any? { |who, *| who == :second }
      end
      _who, moved, attempt = runs.find { |who, *| who == :second }

      last = runs.select { |who, partition, _| who == :first && partition == moved }.map(&:last).max
      assert_includes attempts_kept(last), attempt
      assert_operator attempt, :>=, 2
    end

    PATIENT = {config: lambda { |config|
      config.pause.timeout = 300
      config.pause.max_timeout = 600
    }}.freeze

    rule "after a seek the next owner begins at its offset" do
      topic, seen = topic_with(4), queue
      sought = false
      first = consuming(topic, ->(_) { manual_offset_management true }, kafka: HASTY) do
        mark_as_consumed(messages.last) unless sought
        seek(1) unless sought
        sought = true
      end
      wait_until(20, "the commit of the seek") { committed(topic) == 1 }
      first.stop
      member(topic, :second) { seen << messages.first.offset }

      assert_equal [1], take(seen, 1)
    end
  end
end
