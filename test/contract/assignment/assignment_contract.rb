# frozen_string_literal: true

require "penstock/assignment/commits"
require "penstock/cli/offset_writer"
require "support/consuming"

module Penstock
  # Which member consumes which partitions, with any broker. Including modules define `kafka` (settings for the broker) and
  # checks that only some brokers support: `assert_members`, `assert_once`.
  module AssignmentContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    # Each record's partition and payload.
    def recorder(seen)
      Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [message.partition, message.raw_payload] } }
      end
    end

    # An application with these routes instead of one topic; the block is evaluated by `routes.redraw`.
    # @param listen [Hash{String => Thread::Queue}] events, and queues for them
    def run_routes(listen: {}, config: ->(_config) {}, **settings, &routes)
      application = build("unused", Class.new(BaseConsumer), ->(_) { active false }, config, settings)
      application.routing.redraw(&routes)
      listen.each { |name, events| application.monitor.subscribe(name) { |event| events << event } }
      yield_running(application)
    end

    # A topic with one record per partition: the partition's number.
    def numbered_topic(partitions)
      unique("topic").tap do |name|
        create_topic(name, partitions)
        partitions.times { |partition| produce(name, [partition.to_s], partition: partition) }
      end
    end

    rule "[direct assign] true assigns all partitions without joining a group; completed offsets are committed to the group" do
      topic, seen = numbered_topic(3), queue
      recorder = recorder(seen)
      running = run_routes { topic(topic) { [consumer(recorder), assign(true)] } }

      assert_equal [[0, "0"], [1, "1"], [2, "2"]], take(seen, 3).sort
      assert_members 0
      assert_equal 0, running.stop
      assert_equal [1, 1, 1], [0, 1, 2].map { |partition| committed(topic, partition) }
    end

    rule "[assign offsets kept] offsets that don't move are committed again in time" do
      {REPEAT_AFTER_MS: 1, KEEP_ALIVE_MS: 300}.each do |name, value| # this scenario has a process of its own
        Assignment::Commits.__send__(:remove_const, name)
        Assignment::Commits.const_set(name, value)
      end
      topic, seen = numbered_topic(1), queue
      recorder = recorder(seen)
      run_routes { topic(topic) { [consumer(recorder), assign(true)] } }
      take(seen, 1)
      wait_until(20, "the first commit") { committed(topic) == 1 }
      2.times do # as if the broker had forgotten it
        CLI::OffsetWriter.new(native, 10_000).call(group, [[topic, 0, 0, nil]])
        wait_until(20, "the offset again", state: -> { committed(topic) }) { committed(topic) == 1 }
      end
      assert_empty seen
    end

    rule "[direct assign] only the named partitions are consumed, from the group's offsets" do
      topic, seen = numbered_topic(3), queue
      recorder = recorder(seen)
      draw = ->(numbers) { run_routes { topic(topic) { [consumer(recorder), assign(*numbers)] } } }
      running = draw.call([0, 2])
      assert_equal [[0, "0"], [2, "2"]], take(seen, 2).sort
      running.stop
      3.times { |partition| produce(topic, ["next"], partition: partition) }
      draw.call([1..2])

      assert_equal [[1, "1"], [1, "next"], [2, "next"]], take(seen, 3).sort
      observe_for(0.3)
      assert_empty seen
    end

    rule "a missing partition named by assign is reported once, and the others are consumed" do
      topic, seen, told = numbered_topic(1), queue, queue
      recorder = recorder(seen)
      run_routes(listen: {"connection.partition_missing" => told}) { topic(topic) { [consumer(recorder), assign(0, 1)] } }

      assert_equal [[0, "0"]], take(seen, 1)
      assert_equal [[topic, 1, 1]], take(told, 1).map { |event| event.payload.values_at(:topic, :partition, :partitions) }
      observe_for(1.5)
      assert_empty told
    end

    # Number of partitions of each connection of the applications here, ascending.
    def shares
      @running.select(&:alive?).flat_map { |running| running.application.snapshot.map { |one| one[:lanes].size } }.sort
    end

    def await_shares(*expected)
      seen = nil
      wait_until(40, "shares #{expected}", state: -> { seen }) { (seen = shares) == expected }
    end

    # Everything that was seen up to the last of the expected records.
    def take_all(seen, *expected)
      got = []
      wait_until(40, expected.inspect, state: -> { got }) do
        got << seen.pop until seen.empty?
        (expected - got).empty?
      end
      got
    end

    rule "[multiplexing fixed] max 2 means two members in the group, with different ids, and each record is consumed once" do
      topic, seen, running = numbered_topic(4), queue, queue
      recorder = recorder(seen)
      run_routes(listen: {"connection.listener.running" => running}) do
        subscription_group(:many) { [multiplexing(max: 2), topic(topic) { consumer recorder }] }
      end
      got = take_all(seen, [0, "0"], [1, "1"], [2, "2"], [3, "3"])
      await_shares(2, 2)
      assert_members 2
      ids = take(running, 2).map { |event| event[:subscription_group].id }
      assert_equal ["#{group}_many_0_0", "#{group}_many_0_1"], ids.sort
      4.times { |partition| produce(topic, ["next"], partition: partition) }
      got += take_all(seen, [0, "next"], [1, "next"], [2, "next"], [3, "next"])
      observe_for(0.2)
      assert_once got + Array.new(seen.size) { seen.pop }
    end

    rule "[pattern + multiplexing] the connections share the partitions of every matching topic, also of one created later" do
      prefix, seen = unique("many"), queue
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [topic.name, message.partition, message.raw_payload] } }
      end
      fill = ->(name, text) { 2.times { |partition| produce(name, [text], partition: partition) } }
      create_topic("#{prefix}-a", 2)
      fill["#{prefix}-a", "1"]
      run_routes(kafka: {"topic.metadata.refresh.interval.ms": 300}) do
        subscription_group(:many) { [multiplexing(max: 2), pattern(/#{Regexp.escape(prefix)}.*/) { consumer consumer }] }
      end
      got = take_all(seen, ["#{prefix}-a", 0, "1"], ["#{prefix}-a", 1, "1"])
      await_shares(1, 1)
      create_topic("#{prefix}-b", 2)
      fill["#{prefix}-b", "2"]
      got += take_all(seen, ["#{prefix}-b", 0, "2"], ["#{prefix}-b", 1, "2"])
      await_shares(2, 2)
      assert_members 2
      %w[a b].each { |letter| fill["#{prefix}-#{letter}", "3"] }
      got += take_all(seen, *%w[a b].product([0, 1]).map { |letter, partition| ["#{prefix}-#{letter}", partition, "3"] })
      assert_equal 8, got.uniq.size
      observe_for(0.2)
      assert_once got + Array.new(seen.size) { seen.pop }
    end

    QUICK = {"heartbeat.interval.ms": 200}.freeze

    rule "[multiplexing dynamic] if a connection has several partitions another is added, one per delay" do
      topic, seen, changes = numbered_topic(3), queue, queue
      recorder = recorder(seen)
      run_routes(listen: {"multiplexing.up" => changes, "multiplexing.down" => changes}, kafka: QUICK) do
        subscription_group(:many) do
          [multiplexing(min: 1, max: 5, boot: 1, scale_delay: 4_000), topic(topic) { consumer recorder }]
        end
      end
      got = take_all(seen, [0, "0"], [1, "1"], [2, "2"])
      assert_equal [2, 3], take(changes, 2, 60).map { |event| event[:connections] }
      await_shares(1, 1, 1)
      3.times { |partition| produce(topic, ["next"], partition: partition) }
      got += take_all(seen, [0, "next"], [1, "next"], [2, "next"])
      observe_for(1.5)
      assert_once got + Array.new(seen.size) { seen.pop }
      assert_empty changes
    end

    rule "[multiplexing dynamic] a connection without partitions is closed, never below min" do
      topic, seen, changes = numbered_topic(1), queue, queue
      recorder = recorder(seen)
      running = run_routes(listen: {"multiplexing.up" => changes, "multiplexing.down" => changes}, kafka: QUICK) do
        subscription_group(:many) do
          [multiplexing(min: 2, max: 5, boot: 4, scale_delay: 1_000), topic(topic) { consumer recorder }]
        end
      end
      assert_equal ["0"], take(seen, 1).map(&:last)
      assert_equal [3, 2], take(changes, 2, 60).map { |event| event[:connections] }
      await_shares(0, 1)
      observe_for(1.5)
      assert_empty changes
      produce(topic, ["next"])
      assert_equal ["next"], take(seen, 1).map(&:last)
      assert_equal 0, running.stop
    end

    rule "a partition that moves between connections of a process waits for the unit still running on it" do
      topic, begun, release, moved = numbered_topic(2), queue, queue, queue
      stuck = Class.new(BaseConsumer) do
        define_method(:consume) do
          begun << messages.first.partition
          release.pop
        end
      end
      running = run_routes(listen: {"rebalance.unit_left_running" => moved}, revocation_drain: 300, kafka: QUICK) do
        subscription_group(:many) do
          [multiplexing(min: 1, max: 2, boot: 1, scale_delay: 1_000), topic(topic) { consumer stuck }]
        end
      end
      take(begun, 2)
      partition = take(moved, 1, 60).first[:partition]
      lanes = -> { running.application.snapshot.flat_map { |one| one[:lanes] }.select { |lane| lane[:partition] == partition } }
      wait_until(40, "the other connection", state: lanes) { lanes.call.any? { |lane| lane[:holds].key?(:other_connection) } }
      observe_for(0.5)
      assert_empty begun
      2.times { release << true }

      assert_equal [partition], take(begun, 1)
    ensure
      10.times { release&.push(true) }
    end

    # --- parallel segments

    def produce_keyed(topic, keys, partition: 0)
      producer = Native::Producer.new(native.merge("linger.ms" => "0"))
      keys.each { |key| producer.produce(topic, "of #{key}", key, partition: partition, handle: false) }
      producer.flush(10_000) or raise "not delivered"
    ensure
      producer&.close(2_000)
    end

    def offset_of(group, topic, partition = 0)
      Admin.open(kafka) { |admin| admin.read_committed_offsets(group, {topic => [partition]}).first[:offset] }
    end

    # A group split into three; each record is reported with the number of its segment.
    def run_segments(topic, seen, partitioner: ->(message) { message.raw_key }, listen: {})
      name = group
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [self.topic.group.segment_id, message.raw_key] } }
      end
      run_routes(listen: listen, kafka: {"auto.commit.interval.ms": 200}) do
        consumer_group(name) do
          parallel_segments(count: 3, partitioner: partitioner)
          topic(topic) { consumer consumer }
        end
      end
    end

    rule "[parallel segments] the segments together consume each record once; foreign records count as complete" do
      topic, seen = unique("topic"), queue
      create_topic(topic, 1)
      keys = Array.new(60) { |number| "key #{number % 20}" }
      produce_keyed(topic, keys)
      running = run_segments(topic, seen)
      got = take(seen, 60)
      observe_for(0.5)

      assert_empty seen
      assert_equal keys.sort, got.map(&:last).sort
      assert_equal 20, got.uniq.size
      assert_equal [0, 1, 2], got.map(&:first).uniq.sort
      wait_until(20, "commits") { [0, 1, 2].all? { |id| offset_of("#{group}-parallel-#{id}", topic) == 60 } }
      produce_keyed(topic, ["key 1"])
      wait_until(20, "commits of a batch that is foreign to two") do
        [0, 1, 2].all? { |id| offset_of("#{group}-parallel-#{id}", topic) == 61 }
      end
      assert_equal 1, seen.size
      assert_equal 0, running.stop
    end

    rule "[segments partitioner error] the record belongs to the first segment, and an event reports the error" do
      topic, seen, errors = unique("topic"), queue, queue
      create_topic(topic, 1)
      produce_keyed(topic, %w[a bad])
      run_segments(topic, seen, listen: {"error.occurred" => errors},
        partitioner: ->(message) { (message.raw_key == "bad") ? raise("no idea") : message.raw_key })

      assert_includes take(seen, 2), [0, "bad"]
      types = take(errors, 3).map { |event| [event[:type], event[:error].message] }
      assert_equal [["parallel_segments.partitioner.error", "no idea"]], types.uniq
      observe_for(0.3)
      assert_empty seen
    end
  end
end
