# frozen_string_literal: true

require "test_helper"
require "support/admission"
require "penstock/processing/admission/pipeline"

module Penstock
  class AdmissionPipelineTest < TestCase
    include TestSupport::Admission

    SECOND = 1_000

    def pipeline(**features)
      kinds = {throttle: Routing::Throttle, expire_in: Routing::ExpireIn, delay_by: Routing::DelayBy}
      features = features.to_h { |name, values| [name, kinds.fetch(name).new(*values)] }
      Processing::Admission::Pipeline.for(route(**features), topic_name: "orders", partition: 0)
    end

    # Records of the same age with a header each; nil: without.
    def with_header(name, *values, age: 500)
      records(values.each_with_index.map { |value, offset|
        {offset: offset, timestamp: WALL - age, headers: value.nil? ? nil : {name => value}}
      })
    end

    # Values that anybody may send, and that mean nothing.
    HOSTILE = ["", " ", "-1", "+5", "1e3", "1_000", " 1", "1\n", "0x10", "12.5", "\xFF\xFE", "\xFF1".b, "1\0", "9" * 16,
      "9" * 100_000, "١", nil, [], [nil], ["1", "x"]].freeze

    test "a route without steps has no pipeline" do
      assert_nil Processing::Admission::Pipeline.for(route, topic_name: "orders", partition: 0)
    end

    test "messages that no step narrows are passed on unchanged" do
      messages = aged(10, 5)
      run = pipeline(expire_in: SECOND).call(messages, 0, WALL, %i[a b])
      assert_same messages, run.messages
      assert_predicate run, :whole?
      assert_equal %i[a b], run.keys
    end

    test "[expire_in] older records are dropped and complete, records of that age or without a timestamp aren't" do
      run = pipeline(expire_in: SECOND).call(aged(1_001, 1_000, nil, 5_000, 0), 0, WALL, %i[a b c d e])
      assert_equal [[1, 2, 4], [0, 3], %i[b c e]], [run.messages.offsets, run.dropped, run.keys]
      assert_equal ["filtering.dropped", {topic: "orders", partition: 0, count: 2, first_offset: 0, last_offset: 3,
                                          reason: "expired"}], run.events.first
    end

    test "[expire_in] records that wait for a retry are dropped when they have expired, and never held" do
      pipeline = pipeline(expire_in: SECOND, delay_by: 1, throttle: [1, 60_000])
      assert_predicate pipeline, :recheck?
      run = pipeline.recheck(aged(1_500, 500, 400), 0, WALL)
      assert_equal [[1, 2], [0], nil], [run.messages.offsets, run.dropped, run.hold]
    end

    test "a wall clock that is set ahead drops nothing before a time to live has passed" do
      pipeline = pipeline(expire_in: SECOND)
      assert_empty pipeline.call(aged(0), 0, WALL).dropped
      assert_empty pipeline.call(aged(-10), 10, WALL + 3_600_010).dropped
      assert_empty pipeline.call(aged(-1_000), 1_009, WALL + 3_601_009).dropped
      assert_equal [0], pipeline.call(aged(-1_000), 1_010, WALL + 3_601_010).dropped, "after that it is believed"
    end

    test "the first record of a lane is judged by the process's clock, which was read before" do
      kinds = {expire_in: Routing::ExpireIn.new(SECOND), delay_by: Routing::DelayBy.new(SECOND)}
      kinds.each do |name, value|
        clock = CautiousClock.new
        clock.read(0, WALL)
        2.times do |partition| # a later assignment is no other beginning
          pipeline = Processing::Admission::Pipeline.for(route(name => value), topic_name: "orders", partition: partition,
            clock: clock)
          run = pipeline.call(aged(0), 10, WALL + 3_600_010)
          assert_empty run.dropped
          assert_equal((name == :expire_in) ? 1 : 0, run.messages.size, name)
        end
      end
    end

    test "[expire_in header] a record's own time to live counts, the last of several, and the route's for the others" do
      messages = with_header("ttl", "400", nil, "600", %w[9 700], %w[700 9], "500", "499")
      run = pipeline(expire_in: [450, "ttl"]).call(messages, 0, WALL)
      assert_equal [[2, 3, 5], [0, 1, 4, 6]], [run.messages.offsets, run.dropped]
      run = pipeline(expire_in: [nil, "ttl"]).call(messages, 0, WALL)
      assert_equal [0, 4, 6], run.dropped, "without a route's value, a record without the header never expires"
    end

    test "[expire_in header] a value that isn't 1 to 15 digits, or zero, is as if there were none" do
      messages = with_header("ttl", *HOSTILE, "0", "000", "007", "9" * 15, age: 20)
      run = pipeline(expire_in: [nil, "ttl"]).call(messages, 0, WALL)
      assert_equal [HOSTILE.size + 2], run.dropped, "only 007 is below the age"
      assert_equal [*0..(HOSTILE.size + 2)], pipeline(expire_in: [10, "ttl"]).call(messages, 0, WALL).dropped
    end

    test "[expire_in header] without a route's value, a clock that is set ahead is believed after a minute" do
      pipeline = pipeline(expire_in: [nil, "ttl"])
      messages = with_header("ttl", "1000", age: 0)
      assert_empty pipeline.call(messages, 0, WALL).dropped
      assert_empty pipeline.call(messages, 1, WALL + 3_600_000).dropped
      assert_empty pipeline.call(messages, 900, WALL + 3_600_900).dropped
      assert_equal [0], pipeline.call(messages, 1_001, WALL + 3_600_999).dropped, "it has really expired"
      2_000.step(59_000, 1_000) { |now| pipeline.call(aged(0), now, WALL + 3_600_000 + now) }
      assert_empty pipeline.call(with_header("ttl", "3000000", age: -1_000), 60_000, WALL + 3_660_000).dropped
      assert_equal [0], pipeline.call(with_header("ttl", "3000000", age: -1_000), 60_001, WALL + 3_660_001).dropped
    end

    test "[expired records to a topic] they are admitted without delay and uncounted, and found again before they are handed out" do
      pipeline = pipeline(expire_in: [SECOND, nil, "expired"], delay_by: [2_000, "delay", 2_000], throttle: [2, SECOND])
      rows = [[5_000, nil], [1_500, "2000"], [900, "1"], [5_000, nil], [800, "1"], [700, "1"]]
      messages = records(rows.each_with_index.map { |(age, delay), offset|
        {offset: offset, timestamp: WALL - age, headers: delay && {"delay" => delay}}
      })
      run = pipeline.call(messages, 0, WALL)
      assert_equal [[0, 1, 2, 3, 4], [5], []], [run.messages.offsets, run.rest.offsets, run.dropped]
      assert_equal [0, 1, 3], pipeline.recheck(run.messages, 0, WALL).dropped
    end

    test "[delay_by header] a record's own delay counts, up to the maximum, and the route's for the others" do
      pipeline = pipeline(delay_by: [100, "delay", SECOND])
      messages = with_header("delay", "0", nil, "500", "501", "0")
      run = pipeline.call(messages, 50, WALL)
      assert_equal [[0, 1, 2], [3, 4], [:delay, 51]], [run.messages.offsets, run.rest.offsets, run.hold]
      assert_equal [:delay, 550], pipeline(delay_by: [100, "delay", SECOND]).call(with_header("delay", "9" * 15), 50, WALL).hold
      run = pipeline(delay_by: [nil, "delay", SECOND]).call(with_header("delay", *HOSTILE, age: 0), 50, WALL)
      assert_predicate run, :whole?, "without a route's value, records without a delay don't wait"
      run = pipeline(delay_by: [9, "delay", SECOND]).call(with_header("delay", *HOSTILE, age: 0), 50, WALL)
      assert_equal [:delay, 59], run.hold
    end

    test "[delay_by header] a record without a timestamp waits its own delay from when it was first seen" do
      pipeline = pipeline(delay_by: [nil, "delay", SECOND])
      row = {offset: 0, timestamp: nil, headers: {"delay" => "300"}}
      assert_equal [:delay, 307], pipeline.call(records([row]), 7, WALL).hold
      assert_equal [:delay, 307], pipeline.call(records([row]), 200, WALL + 9).hold
      assert_predicate pipeline.call(records([row]), 307, WALL), :whole?
    end

    test "[delay_by] the first record that is too young holds the lane until it is due, and the following records wait with it" do
      run = pipeline(delay_by: SECOND).call(aged(1_000, 1_500, 999, 2_000), 50, WALL)
      assert_equal [[0, 1], [2, 3], [:delay, 51]], [run.messages.offsets, run.rest.offsets, run.hold]
      assert_equal "filtering.throttled", run.events.first.first
      assert_equal 2, run.events.first.last[:offset]
      assert_equal 2, run.events.first.last[:message].offset
    end

    test "[delay_by] records are never admitted early, and at once when due" do
      pipeline = pipeline(delay_by: SECOND)
      messages = aged(400)
      assert_equal [:delay, 600], pipeline.call(messages, 0, WALL).hold
      assert_equal [:delay, 600], pipeline.call(messages, 599, WALL + 599).hold
      assert_predicate pipeline.call(messages, 600, WALL + 600), :whole?
    end

    test "a hold emits one event for the record at which the lane waits" do
      pipeline = pipeline(delay_by: SECOND)
      assert_equal 1, pipeline.call(aged(0), 0, WALL).events.size
      assert_empty pipeline.call(aged(0), 5, WALL + 5).events
    end

    test "a wall clock that is set ahead admits nothing early" do
      pipeline = pipeline(delay_by: SECOND)
      messages = aged(0)
      pipeline.call(messages, 0, WALL)
      assert_empty pipeline.call(messages, 1, WALL + 3_600_001).messages
      assert_equal [:delay, 1_000], pipeline.call(messages, 999, WALL + 3_600_999).hold
      assert_predicate pipeline.call(messages, 1_000, WALL + 3_601_000), :whole?
    end

    test "a wall clock that is set back blocks nothing: a record waits no longer than the delay" do
      pipeline = pipeline(delay_by: SECOND)
      messages = aged(0)
      pipeline.call(messages, 0, WALL)
      assert_equal [:delay, 1_000], pipeline.call(messages, 10, WALL - 3_600_000).hold
      assert_predicate pipeline.call(messages, 1_000, WALL - 3_600_000), :whole?
    end

    test "a record from the future, or without a timestamp, waits the delay from when it was first seen" do
      pipeline = pipeline(delay_by: SECOND)
      assert_equal [:delay, 1_007], pipeline.call(aged(-86_400_000), 7, WALL).hold
      assert_equal [:delay, 1_007], pipeline.call(aged(-86_400_000), 8, WALL + 1).hold
      assert_equal [:delay, 1_009], pipeline.call(aged(nil, from: 1), 9, WALL + 2).hold
    end

    test "after a reset, records seen before don't count any more" do
      pipeline = pipeline(delay_by: SECOND)
      pipeline.call(aged(nil), 0, WALL)
      pipeline.reset
      assert_equal [:delay, 1_900], pipeline.call(aged(nil), 900, WALL + 900).hold
    end

    test "[throttle] the records over the limit wait until the interval of the first has ended" do
      pipeline = pipeline(throttle: [3, SECOND])
      run = pipeline.call(aged(*[0] * 5), 100, WALL)
      assert_equal [[0, 1, 2], [3, 4], [:throttle, 1_100]], [run.messages.offsets, run.rest.offsets, run.hold]
      assert_empty pipeline.call(run.rest, 1_099, WALL).messages
      assert_equal [3, 4], pipeline.call(run.rest, 1_100, WALL).messages.offsets
    end

    test "[throttle] never more than the limit is admitted in any interval, whenever records come" do
      random = Random.new(7)
      50.times do
        limit, interval = random.rand(1..20), random.rand(1..2_000)
        pipeline = pipeline(throttle: [limit, interval])
        assert_limit(went_in(pipeline, random), limit, interval)
      end
    end

    def went_in(pipeline, random)
      now, offset, waiting, times = 0, 0, aged, []
      60.times do
        count = random.rand(0..8)
        waiting, offset = aged(*[0] * count, from: offset), offset + count if waiting.empty?
        run = pipeline.call(waiting, now, WALL)
        times.concat([now] * run.messages.size)
        waiting = run.rest
        now = run.hold ? run.hold.last : now + random.rand(0..300)
      end
      times
    end

    def assert_limit(times, limit, interval)
      times.each_cons(limit + 1) do |window|
        assert_operator window.last - window.first, :>=, interval, "#{limit + 1} records within #{interval} ms"
      end
      refute_empty times
    end

    test "[throttle] only records left by the earlier steps are counted" do
      run = pipeline(expire_in: SECOND, delay_by: 10, throttle: [2, SECOND]).call(aged(2_000, 500, 2_000, 400, 5, 300), 0, WALL)
      assert_equal [[1, 3], [4, 5], [0, 2]], [run.messages.offsets, run.rest.offsets, run.dropped]
      assert_equal [:delay, 5], run.hold
    end

    test "of two holds the one that ends first counts" do
      run = pipeline(delay_by: SECOND, throttle: [1, 100]).call(aged(2_000, 2_000, 0), 0, WALL)
      assert_equal [[0], [1, 2], [:throttle, 100]], [run.messages.offsets, run.rest.offsets, run.hold]
    end

    test "[filter order and instance] two lanes of a route count separately" do
      2.times { assert_equal 1, pipeline(throttle: [1, SECOND]).call(aged(0, 0), 0, WALL).messages.size }
    end

    test "with any steps and clocks, every record is in one part, in order, and every hold ends" do
      300.times do |seed|
        random = Random.new(seed)
        pipeline = pipeline(**features(random)) or next
        now, wall = 0, WALL
        waiting = aged(*ages(random))
        20.times do
          run = pipeline.call(waiting, now, wall, waiting.offsets)
          assert_accounted(waiting, run)
          assert_equal [run.messages.offsets, run.rest.offsets], [run.keys, run.rest_keys]
          assert_equal run.rest.empty?, run.hold.nil?, "what waits is held, and nothing else is"
          break if run.rest.empty?
          assert_operator run.hold.last, :>, now
          wall += run.hold.last - now + (random.rand(4).zero? ? random.rand(-7_200_000..7_200_000) : 0)
          now = run.hold.last
          waiting = run.rest
        end
      end
    end

    def ages(random) = Array.new(random.rand(1..30)) { random.rand(5).zero? ? nil : random.rand(-3_000..6_000) }

    def features(random)
      all = {expire_in: random.rand(1..8_000), delay_by: random.rand(1..4_000),
             throttle: [random.rand(1..9), random.rand(1..900)]}
      all.select { random.rand(2).zero? }
    end

    test "a waiting lane continues within the delay, however the wall clock jumps" do
      100.times do |seed|
        random = Random.new(seed)
        pipeline = pipeline(delay_by: 1_000)
        waiting = aged(*ages(random).first(5))
        now, wall = 0, WALL
        until waiting.empty?
          assert_operator now, :<=, 1_000
          run = pipeline.call(waiting, now, wall)
          waiting = run.rest
          now = run.hold.last if run.hold
          wall += random.rand(-10_000..10_000)
        end
      end
    end
  end
end
