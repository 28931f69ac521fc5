# frozen_string_literal: true

require "test_helper"
require "support/admission"
require "penstock/lint"
require "penstock/processing/admission/prepare"
require "penstock/processing/filters/base"

module Penstock
  class AdmissionPrepareTest < TestCase
    include TestSupport::Admission

    # A filter that removes messages as its block decides, and requests what it is given.
    class Asking < Filter
      attr_reader :action, :timeout, :calls

      def initialize(action, timeout: nil, at: nil, &out)
        super()
        @action, @timeout, @at, @out, @calls = action, timeout, at, out, 0
      end

      def apply!(messages)
        @calls += 1
        @cursor = messages.find { |message| message.offset == @at }
        @applied = !@cursor.nil?
        messages.reject!(&@out) if @out
      end
    end

    def prepare(*filters, segment: nil, parallel: nil)
      specs = filters.map { |filter| filter.is_a?(Proc) ? filter(&filter) : filter(->(_topic, _partition) { filter }) }
      topic = route(filter: specs, parallel: parallel, segment: segment)
      Processing::Admission::Prepare.for(topic, topic_name: "orders", partition: 0, backoff: backoff)
    end

    def names(prepared) = prepared.events.map { |name, payload| payload[:type] || name }

    test "a route without user code has nothing to prepare" do
      assert_nil prepare
      assert_nil prepare(parallel: parallel(:key))
      assert_nil prepare(parallel: parallel(:message))
    end

    test "[filter apply] messages that a block doesn't keep are dropped, and user code is called on a worker only" do
      asked = []
      prepare = prepare(->(message) { asked << message.offset && message.raw_key == "a" })
      assert_empty asked
      given = keyed("a", "b", "a")
      prepared = prepare.call(given, 0)
      assert_accounted(given, prepared)
      assert_equal [[0, 2], [1], nil, %w[filtering.dropped]],
        [prepared.messages.offsets, prepared.dropped, prepared.keys, names(prepared)]
      assert_equal [0, 1, 2], asked
    end

    test "a filter whose class was loaded again is created again, only where the topic looks its classes up by name" do
      keep = Class.new(Filter) { def apply!(_messages) = nil }
      [[true, 1], [false, 2]].each do |persistence, expected|
        made = []
        topic = route(filter: [filter(->(_topic, _partition) { keep.new.tap { |one| made << one } })])
        topic.define_singleton_method(:outdated?) { |one| !persistence && one.equal?(made.first) }
        prepare = Processing::Admission::Prepare.for(topic, topic_name: "orders", partition: 0, backoff: backoff)
        3.times { prepare.call(keyed("a"), 0) }

        assert_equal expected, made.size
      end
    end

    test "[filter order and instance] filters of a partition are created once, and called in their order" do
      made = []
      seen = []
      build = lambda do |name|
        filter(lambda do |topic, partition|
          made << [name, topic.name, partition]
          Class.new(Filter) { define_method(:apply!) { |messages| seen << [name, messages.size] && messages.shift } }.new
        end)
      end
      topic = route(filter: [build.call(:one), build.call(:two)])
      prepare = Processing::Admission::Prepare.for(topic, topic_name: "orders", partition: 7, backoff: backoff)
      2.times { prepare.call(keyed(*%w[a b c]), 0) }
      assert_equal [[:one, "orders", 7], [:two, "orders", 7]], made
      assert_equal [[:one, 3], [:two, 2]] * 2, seen
    end

    test "[filter pause/seek] a pause admits the messages before the cursor; those from there on wait, kept or not" do
      given = keyed(*%w[a b c d])
      prepared = prepare(Asking.new(:pause, timeout: 500, at: 2) { |message| message.raw_key == "d" }).call(given, 100)
      assert_accounted(given, prepared)
      assert_equal [[0, 1], [2, 3], [], [:filter, 600], nil],
        [prepared.messages.offsets, prepared.rest.offsets, prepared.dropped, prepared.hold, prepared.seek_to]
      assert_equal %w[filtering.throttled], names(prepared)
      assert_equal 2, prepared.events.first.last[:message].offset
    end

    test "[filter timeouts] a seek's timeout of 0 doesn't shorten another filter's pause" do
      prepared = prepare(Asking.new(:seek, timeout: 0, at: 1), Asking.new(:pause, timeout: 500, at: 1)).call(keyed(*%w[a b]), 0)
      assert_equal [[:filter, 500], 1], [prepared.hold, prepared.seek_to]
    end

    test "a pause without a timeout has the route's, and after one of 0 ms the filter isn't called again at once" do
      assert_equal [:filter, 1_000], prepare(Asking.new(:pause, at: 0)).call(keyed("a"), 0).hold
      assert_equal [:filter, 10], prepare(Asking.new(:pause, timeout: 0, at: 0)).call(keyed("a"), 0).hold
    end

    test "an infinite pause is limited, and every pause is a whole number of ms" do
      holds = [Float::INFINITY, 10.2].map do |timeout|
        prepare(Asking.new(:pause, timeout: timeout, at: 0)).call(keyed("a"), 5).hold
      end
      assert_equal [[:filter, 5 + 365 * 86_400_000], [:filter, 16]], holds
      assert(holds.all? { |_reason, at| at.is_a?(Integer) })
    end

    test "of several pauses the shortest counts, and the lowest cursor" do
      prepared = prepare(Asking.new(:pause, timeout: 900, at: 1), Asking.new(:pause, timeout: 50, at: 2))
        .call(keyed(*%w[a b c]), 0)
      assert_equal [[0], [:filter, 50]], [prepared.messages.offsets, prepared.hold]
    end

    test "a seek continues at its cursor, and the messages before it are admitted" do
      given = keyed(*%w[a b c])
      prepared = prepare(Asking.new(:seek, at: 1)).call(given, 0)
      assert_accounted(given, prepared)
      assert_equal [[0], [1, 2], 1, nil], [prepared.messages.offsets, prepared.rest.offsets, prepared.seek_to, prepared.hold]
      assert_equal %w[filtering.seek], names(prepared)
    end

    test "a seek below another filter's pause happens at once, without that pause; at its cursor it waits for it" do
      pause = Asking.new(:pause, timeout: 60_000, at: 2)
      [[1, nil, %w[filtering.seek]], [2, [:filter, 60_000], %w[filtering.throttled filtering.seek]]].each do |at, hold, events|
        given = keyed(*%w[a b c d])
        prepared = prepare(pause, Asking.new(:seek, at: at)).call(given, 0)
        assert_accounted(given, prepared)
        assert_equal [at, hold, events], [prepared.seek_to, prepared.hold, names(prepared)]
      end
    end

    test "a seek beyond the batch drops the messages its filter removed" do
      far = Struct.new(:offset).new(1_000)
      filter = Asking.new(:seek) { true }
      filter.define_singleton_method(:cursor) { far }
      filter.define_singleton_method(:applied?) { true }
      prepared = prepare(filter).call(keyed(*%w[a b]), 0)
      assert_equal [[], [0, 1], 1_000], [prepared.messages.offsets, prepared.dropped, prepared.seek_to]
    end

    test "a seek past a record that another filter holds waits: no record is skipped" do
      prepared = prepare(Asking.new(:pause, timeout: 5, at: 1), Asking.new(:seek, at: 2)).call(keyed(*%w[a b c]), 0)
      assert_equal [[0], [1, 2], nil], [prepared.messages.offsets, prepared.rest.offsets, prepared.seek_to]
    end

    test "a filter that wasn't applied requests nothing, regardless of its action" do
      filter = Asking.new(:pause, timeout: 5) { |message| message.offset.zero? }
      prepared = prepare(filter).call(keyed(*%w[a b]), 0)
      assert_equal [[1], [0], nil], [prepared.messages.offsets, prepared.dropped, prepared.hold]
    end

    test "a filter that raises loses nothing: the same records are prepared again after a growing back-off" do
      failing = true
      prepare = prepare(->(_message) { failing ? raise("broken") : true })
      given = keyed(*%w[a b])
      prepared = prepare.call(given, 100)
      assert_same given, prepared.rest
      assert_empty prepared.messages
      assert_equal [:prepare, 2_100], prepared.hold
      name, event = prepared.events.first
      assert_equal ["error.occurred", "filtering.error", "broken", 0, 1, 1, "orders"],
        [name, event[:type], event[:error].message, *event.values_at(:first_offset, :last_offset, :failures, :topic)]
      assert_equal [:prepare, 6_100], prepare.call(given, 2_100).hold
      failing = false
      assert_equal [0, 1], prepare.call(given, 6_100).messages.offsets
      failing = true
      assert_equal [:prepare, 2_000], prepare.call(given, 0).hold, "a success begins anew"
    end

    test "a factory that raises or returns no filter is reported like a filter that raises" do
      [->(_t, _p) { raise "no database" }, ->(_t, _p) { Object.new }].zip([/no database/, /has no apply!.*Penstock::Filter/])
        .each do |factory, text|
          topic = route(filter: [filter(factory)])
          prepared = Processing::Admission::Prepare.for(topic, topic_name: "orders", partition: 0, backoff: backoff)
            .call(keyed("a"), 0)
          assert_equal [0], prepared.rest.offsets
          assert_match text, prepared.error.message
        end
    end

    test "a filter may only delete: one that adds or moves messages raises an error, and nothing is lost" do
      [->(messages) { messages.reverse! }, ->(messages) { messages << messages.first }].each do |change|
        filter = Class.new(Filter) { define_method(:apply!) { |messages| change.call(messages) } }.new
        prepared = prepare(filter).call(keyed(*%w[a b]), 0)
        assert_match(/may only delete/, prepared.error.message)
        assert_equal [0, 1], prepared.rest.offsets
      end
    end

    test "an error that stops a process is raised to the caller" do
      assert_raises(Interrupted) { prepare(->(_message) { raise Interrupted }).call(keyed("a"), 0) }
    end

    test "a partitioner returns one key per admitted record" do
      prepared = prepare(->(message) { message.raw_key != "x" }, parallel: parallel(->(message) { message.raw_key.upcase }))
        .call(keyed(*%w[a x b]), 0)
      assert_equal [[0, 2], %w[A B]], [prepared.messages.offsets, prepared.keys]
    end

    test "a key keeps the value that the partitioner returned, even if the object is changed later" do
      key = [+"a", {id: +"b"}]
      keys = prepare(parallel: parallel(->(_message) { key })).call(keyed("x", "y"), 0).keys
      key[0] << "!"
      key[1][:id] << "!"
      key << "more"
      assert_equal [["a", {id: "b"}]] * 2, keys
      assert keys.flatten.none? { |part| part.respond_to?(:hash) && !part.frozen? }
    end

    test "a key whose hash raises fails on the worker: the error is reported, and the whole take is prepared again" do
      odd = Class.new { def hash = raise("no hash") }.new
      prepared = prepare(parallel: parallel(->(_message) { odd })).call(keyed("x"), 0)
      assert_equal [[], [0], ["virtual_partitions.partitioner.error"]],
        [prepared.messages.offsets, prepared.rest.offsets, names(prepared)]
    end

    test "[VP partitioner error] a partitioner's error is reported, and the whole take is prepared again" do
      prepared = prepare(parallel: parallel(->(message) { (message.offset == 1) ? raise("no tenant") : 1 }))
        .call(keyed(*%w[a b]), 0)
      assert_equal [[0, 1], nil, [:prepare, 2_000], %w[virtual_partitions.partitioner.error]],
        [prepared.rest.offsets, prepared.keys, prepared.hold, names(prepared)]
      assert_equal "no tenant", prepared.error.message
    end

    test "a partitioner with varying keys is reported once per lane with location and solution; the first key counts" do
      count = 0
      prepare = prepare(parallel: parallel(->(_message) { count += 1 }))
      prepared = prepare.call(keyed(*%w[a b]), 0)
      assert_equal [[1, 2], %w[virtual_partitions.partitioner.error]], [prepared.keys, names(prepared)]
      text = prepared.events.first.last[:error].message
      assert_match(%r{partitioner of orders \(.*prepare_test.rb:\d+\).*orders/0/0.*nothing but the message}, text)
      assert_empty prepare.call(keyed("a"), 0).events
    end

    test "[VP consistent] a key always has the same slot, and a record without a key has any" do
      prepare = prepare(parallel: parallel(:key, max: 3, distribution: :consistent))
      first = prepare.call(keyed("a", "b", nil, "a", nil), 0).keys
      assert_equal first[0], first[3]
      assert(first.all? { |slot| (0..2).cover?(slot) }, first.inspect)
      assert_equal first[0, 2], prepare.call(keyed("a", "b"), 0).keys
    end

    test "a custom reducer assigns the slots; an invalid slot is reported" do
      consistent = parallel(:raw_key.to_proc, max: 2, distribution: :consistent, reducer: :to_i.to_proc)
      prepare = prepare(parallel: consistent)
      assert_equal [1, 0], prepare.call(keyed("1", "0"), 0).keys
      assert_match(/Integer from 0 to 1 .*returned 2/, prepare.call(keyed("2"), 0).error.message)
    end

    test "with virtual_partitions the text of what a partitioner returns is the key, also of nil" do
      returned = [1, "1", :"1", nil, "", [2]]
      as_text = parallel(->(message) { returned[message.offset] }, text_keys: true)
      assert_equal ["1", "1", "1", "", "", "[2]"], prepare(parallel: as_text).call(keyed(*%w[a b c d e f]), 0).keys
      as_returned = parallel(->(message) { returned[message.offset] })
      assert_equal returned, prepare(parallel: as_returned).call(keyed(*%w[a b c d e f]), 0).keys

      texts = Class.new { def to_s = (@text ||= +"a") }.new
      key = prepare(parallel: parallel(->(_message) { texts }, text_keys: true)).call(keyed("x"), 0).keys.first
      texts.to_s << "b"
      assert_equal ["a", true], [key, key.frozen?]
    end

    test "with virtual_partitions and slots all nil share one, and a custom reducer gets what the partitioner returned" do
      none = parallel(->(_message) {}, max: 50, distribution: :consistent, text_keys: true)
      keys = prepare(parallel: none).call(keyed(*%w[a b c]), 0).keys
      assert_equal 1, keys.uniq.size, keys.inspect
      given = []
      reducer = ->(key) { (given << key).size % 2 }
      own = parallel(->(message) { message.offset.zero? ? nil : 1 }, distribution: :consistent, reducer: reducer, text_keys: true)
      assert_equal [1, 0], prepare(parallel: own).call(keyed(*%w[a b]), 0).keys
      assert_equal [nil, 1], given
    end

    test "with virtual_partitions a record that can't be deserialized and has no key isn't passed to a custom reducer" do
      strict = parallel(->(message) { message.payload["id"] }, distribution: :consistent, reducer: ->(key) { Integer(key) },
        text_keys: true)
      given = records([{offset: 5, payload: "{", key: nil}, {offset: 6, payload: '{"id": 2}'}])
      prepared = prepare(parallel: strict).call(given, 0)
      assert_equal [[5 % 4, 2], nil], [prepared.keys, prepared.error]
    end

    test "with virtual_partitions objects whose text varies are reported, those with the same text aren't" do
      varying = prepare(parallel: parallel(->(_message) { Object.new }, text_keys: true)).call(keyed("a"), 0)
      assert_match(/two different keys.*no object without its own `to_s`/, varying.events.first.last[:error].message)
      same = Class.new { def to_s = "same" }
      assert_empty prepare(parallel: parallel(->(_message) { same.new }, text_keys: true)).call(keyed("a"), 0).events
    end

    def payloads(*payloads)
      records(payloads.each_with_index.map { |payload, offset| {offset: offset, payload: payload, key: "k"} })
    end

    test "a record that can't be deserialized bypasses filters and partitioner, and stops no other" do
      prepare = prepare(->(message) { message.payload["keep"] }, parallel: parallel(->(message) { message.payload["id"] }))
      prepared = prepare.call(payloads('{"keep": true, "id": 1}', "{", '{"keep": false}', "}"), 0)
      assert_equal [[0, 1, 3], [2], [1, "k", "k"], nil],
        [prepared.messages.offsets, prepared.dropped, prepared.keys, prepared.error]
    end

    test "[segments partitioner error] a record without a valid segment belongs to the first, and each one emits an event" do
      segments = Routing::ParallelSegments.new(2, ->(message) { Integer(message.raw_key) }, ->(key) { key % 2 }, "-parallel-")
      first, second = segments.segments("shop").map { |segment| prepare(segment: segment).call(keyed("0", "1", "x", "3"), 0) }
      assert_equal [[0, 2], [1, 3]], [first.messages.offsets, first.dropped]
      assert_equal [[1, 3], [0, 2]], [second.messages.offsets, second.dropped]
      assert_equal %w[parallel_segments.partitioner.error filtering.dropped], names(first)
    end

    test "a reducer that returns no segment doesn't lose the record: it belongs to the first, with an event" do
      [7, -1, nil, "0"].each do |answer|
        segments = Routing::ParallelSegments.new(2, ->(message) { message.raw_key }, ->(_key) { answer }, "-parallel-")
        first, second = segments.segments("shop").map { |segment| prepare(segment: segment).call(keyed("a"), 0) }
        assert_equal [[0], []], [first, second].map { |prepared| prepared.messages.offsets }
        assert_equal "parallel_segments.reducer.error", names(first).first
        assert_match(/Integer from 0 to 1 .*returned #{Regexp.escape(answer.inspect)}/, first.events.first.last[:error].message)
      end
    end

    test "[parallel segments] every record is in exactly one segment, before any filter sees it" do
      segments = Routing::ParallelSegments.new(3, ->(message) { message.raw_key }, ->(key) { key.sum % 3 }, "-parallel-")
      seen = []
      kept = segments.segments("shop").map do |segment|
        prepare(->(message) { seen << message.offset }, segment: segment).call(keyed(*("a".."z")), 0).messages.offsets
      end
      assert_equal (0..25).to_a, kept.flatten.sort
      assert_equal (0..25).to_a, seen.sort
    end

    test "with any requests of filters, every record is in one part, in order, and every hold ends" do
      500.times do |seed|
        random = Random.new(seed)
        given = keyed(Array.new(random.rand(1..12)) { %w[a b c].sample(random: random) })
        prepared = prepare(*random_filters(random), parallel: (parallel(:raw_key.to_proc) if random.rand(2).zero?)).call(given, 5)
        assert_accounted(given, prepared)
        assert_operator prepared.hold.last, :>, 5 if prepared.hold
        assert prepared.hold || prepared.seek_to, "nobody would look at the rest again" unless prepared.rest.empty?
        assert_equal prepared.messages.map(&:raw_key), prepared.keys if prepared.keys
      end
    end

    def random_filters(random)
      Array.new(random.rand(1..3)) do
        out = random.rand(3)
        action, timeout = %i[skip pause seek].sample(random: random), [nil, 0, 40].sample(random: random)
        Lint::Filter.new(Asking.new(action, timeout: timeout, at: random.rand(15)) { |message| message.offset % 3 == out })
      end
    end
  end
end
