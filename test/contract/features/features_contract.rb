# frozen_string_literal: true

require "support/consuming"

module Penstock
  # Options of routes other than keys and admission, with any broker.
  module FeaturesContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    rule "batch: records that arrive one by one are consumed together, the last ones at the time limit" do
      topic, sizes = unique("topic").tap { |name| create_topic(name, 1) }, queue
      consuming(topic, ->(_route) { batch min: 5, within: 4_000 }) { sizes << messages.map(&:offset) }
      5.times { |index| produce(topic, [index.to_s]) }
      assert_equal [[0, 1, 2, 3, 4]], take(sizes, 1)
      produce(topic, %w[5])

      assert_equal [[5]], take(sizes, 1)
      assert_equal 6, committed_at(topic, 6)
    end

    rule "[batch bytes] records that arrive one by one gather until they have enough bytes" do
      topic, sizes = topic_with(0), queue
      consuming(topic, ->(_route) { batch bytes: 3_000, within: 8_000 }) { sizes << messages.map(&:offset) }
      3.times { produce(topic, ["x" * 1_000]) }
      assert_equal [[0, 1, 2]], take(sizes, 1, 7)
    end

    rule "[periodic tick] ticks come without data, but not during retries" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      config = ->(config) { config.pause.max_timeout = config.pause.timeout = 1_500 }
      consuming(topic, ->(_route) { periodic interval: 100 }, config: config,
        hooks: {tick: -> { seen << [:tick, used?, messages.size] }}) do
        seen << [:consume, attempt]
        raise "no" if attempt == 1
      end
      assert_equal [[:tick, false, 0]] * 3, take(seen, 3)
      produce(topic, %w[a])
      rest = take(seen, 3) until rest&.any? { |entry| entry.first == :consume }
      rest += take(seen, 3) until rest.include?([:consume, 2])
      between = rest[rest.index([:consume, 1])..rest.index([:consume, 2])]

      assert_equal [[:consume, 1], [:consume, 2]], between
      assert_equal [:tick, true, 1], take(seen, 4).last
    end

    rule "[tick_in] a consumer gets one tick when it wishes, without periodic, and another only when it wishes again" do
      topic, seen = topic_with(1), queue
      tick = lambda do
        seen << [:tick, Clock::SYSTEM.monotonic_ms]
        tick_in(150) if seen.size == 2
      end
      consuming(topic, hooks: {tick: tick}) do
        seen << [:wish, Clock::SYSTEM.monotonic_ms]
        tick_in(200)
      end
      wish, first, second = take(seen, 3)
      assert_equal %i[wish tick tick], [wish, first, second].map(&:first)
      assert_operator first.last - wish.last, :>=, 199
      assert_operator second.last - first.last, :>=, 149
      observe_for(0.5)
      assert_empty seen
    end

    rule "[tick_in] a tick comes soon although records never stop coming, and never at the same time as they run" do
      [[:isolate, true], [:parallel, :key]].each do |option|
        topic, seen, inside = unique("topic").tap { |name| create_topic(name, 1) }, queue, 0
        produce_keyed(topic, Array.new(400) { |index| ["k#{index % 5}", index.to_s] })
        lock = Mutex.new
        hooks = {tick: -> { seen << lock.synchronize { [:tick, inside] } }}
        consuming(topic, ->(_route) { public_send(*option) }, concurrency: 2, max_messages: 1, hooks: hooks) do
          lock.synchronize { inside += 1 }
          seen << [:last, 0] if messages.first.offset == 399
          tick_in(10) if messages.first.offset.zero?
          TestSupport::Wait.wait_until(5, "a moment") { (@calls = @calls.to_i + 1).even? }
          lock.synchronize { inside -= 1 }
        end
        all = take(seen, 2) # with keys, each instance that was used is ticked
        all += take(seen, 1) until all.last.first == :last
        assert_equal [[:tick, 0], [[:tick, 0]], true], [all.first, all[0..-2].uniq, all.size <= 3]
      end
    end

    rule "[periodic at_once] the first tick doesn't wait for an interval" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      consuming(topic, ->(_route) { periodic interval: 3_600_000, at_once: true }, hooks: {tick: -> { seen << used? }}) {}
      assert_equal [false], take(seen, 1)
    end

    rule "[periodic + LRJ] no ticks while a job runs" do
      topic, seen, release = topic_with(1), queue, queue
      options = lambda do |_route|
        long_running_job true
        periodic interval: 50
      end
      consuming(topic, options, hooks: {tick: -> { seen << :tick }}) do
        seen << :begins
        release.pop
        seen << :ends
      end
      nil until take(seen, 1) == [:begins]
      observe_for(0.5)
      assert_empty seen
      release << true

      assert_equal %i[ends tick tick], take(seen, 3)
    end

    rule "a tick may mark gathered records, pause, and raise; then it runs again" do
      topic, seen = topic_with(3), queue
      options = lambda do |_route|
        manual_offset_management true
        periodic interval: 100
      end
      tick = lambda do
        seen << @waiting&.size
        raise "no" if (@ticks = @ticks.to_i + 1) == 1
        mark_as_consumed!(@waiting.last) if @waiting
      end
      running = consuming(topic, options, hooks: {tick: tick}) { @waiting = messages.to_a }

      assert_equal 3, committed_at(topic, 3)
      assert_equal "consumer.tick.error", running.errors.pop[:type]
      take(seen, 2)
    end

    rule "with concurrent keys, eofed and tick run for every instance, and never at the same time as its units" do
      topic, seen, busy = unique("topic").tap { |name| create_topic(name, 1) }, queue, Hash.new(0).compare_by_identity
      produce_keyed(topic, Array.new(40) { |index| ["k#{index % 8}", index.to_s] })
      options = lambda do |_route|
        parallel by: :key
        eofed true
        periodic interval: 50
      end
      note = lambda do |what, consumer|
        seen << [what, consumer.object_id, busy.values.sum]
      end
      hooks = {eofed: -> { note.call(:eofed, self) }, tick: -> { note.call(:tick, self) }}
      # A fast worker could get all units: the first ones wait until another worker has some too.
      consuming(topic, options, concurrency: 4, hooks: hooks) do
        busy[self] += 1
        note.call(:consume, self)
        TestSupport::Wait.wait_until(40, "a second instance") { busy.size > 1 }
        busy[self] -= 1
      end
      all = []
      # An end reported together with records doesn't call the hook; so records are sent until one end came alone. A broker
      # that waits for records reports "end" only if none came for fetch.wait.max.ms: so there is a pause of that length here.
      wait_until(40, "both hooks of two instances", state: -> { all.map(&:first).tally }, every: 1.2) do
        all << seen.pop until seen.empty?
        told = %i[eofed tick].all? { |what| all.count { |entry| entry.first == what } >= 2 }
        produce_keyed(topic, [%w[k0 more]]) unless told
        told
      end
      consumed, called = all.partition { |entry| entry.first == :consume }

      assert(called.all? { |_what, _id, at_once| at_once.zero? })
      assert_empty consumed.map { |entry| entry[1] }.uniq - called.map { |entry| entry[1] }
    end

    rule "time_limit: an endless job is reported with its location, ended, and tried again; others continue" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      produce_keyed(topic, [%w[a stuck], %w[b b], %w[c c]])
      options = lambda do |_route|
        parallel by: :key
        time_limit 200
      end
      running = consuming(topic, options, concurrency: 2) do
        if messages.first.raw_payload == "stuck" && attempt == 1
          begin
            loop { Thread.pass }
          rescue # the user's own rescue doesn't keep it alive
            retry
          end
        end
        seen << [messages.first.raw_key, attempt]
      end
      told = queue
      running.application.monitor.subscribe("consumer.time_limit") { |event| told << event }

      assert_equal [["a", 2], ["b", 1], ["c", 1]], take(seen, 3).sort
      assert_equal TimeLimitExceeded, running.errors.pop[:error].class
      assert_equal 3, committed_at(topic, 3)
      event = told.pop
      assert_equal [topic, 0, 0, 200], [event[:topic], event[:partition], event[:first_offset], event[:limit]]
      assert(event[:backtrace].any? { |line| line.include?("features_contract") })
    end

    rule "[attempt/retrying?] with concurrent keys: 1,false then 2,true, for each key on its own" do
      topic, seen = unique("topic").tap { |name| create_topic(name, 1) }, queue
      produce_keyed(topic, [%w[a 1], %w[b 1], %w[b 2], %w[a 2]])
      consuming(topic, ->(_route) { parallel by: :key }, concurrency: 2) do
        messages.each do |message|
          seen << [message.raw_key, message.raw_payload, attempt, retrying?]
          raise "not yet" if message.raw_key == "b" && message.raw_payload == "1" && attempt == 1
        end
      end
      runs = take(seen, 5).group_by(&:first)

      assert_equal [["a", "1", 1, false], ["a", "2", 1, false]], runs["a"]
      assert_equal [["b", "1", 1, false], ["b", "1", 2, true], ["b", "2", 1, false]], runs["b"]
    end

    rule "[tags] tags are part of job events" do
      topic, seen = topic_with(1), queue
      running = consuming(topic) do
        tags.add(:tenant, "acme")
        seen << true
      end
      told = queue
      running.application.monitor.subscribe("worker.processed") { |event| told << event[:job] }
      running.application.monitor.subscribe("consumer.consumed") { |event| told << event[:caller].tags.to_a }
      take(seen, 1)

      assert_includes take(told, 2), ["acme"]
    end

    STATISTICS = {"statistics.interval.ms": 200}.freeze

    rule "[inline insights] the hash appears, and never disappears" do
      topic, seen = topic_with(2), queue
      options = lambda do |_route|
        inline_insights true
        manual_offset_management true
        periodic interval: 100
      end
      consuming(topic, options, kafka: STATISTICS, hooks: {tick: -> { seen << insights }}) do
        seen << insights
        mark_as_consumed(messages.first)
      end
      all = take(seen, 1)
      all.concat(take(seen, 1)) until all.last.any? && all.last["consumer_lag_stored"] == 1
      all.concat(take(seen, 5))

      assert(all.drop_while(&:empty?).all?(&:any?))
      assert_equal [2, 1, 1], all.last.values_at("hi_offset", "stored_offset", "consumer_lag_stored")
    end

    rule "[insights required] nothing is consumed before there are statistics" do
      topic, seen = topic_with(3), queue
      consuming(topic, ->(_route) { inline_insights required: true }, kafka: {"statistics.interval.ms": 1_000}) do
        seen << [insights?, statistics == inline_insights, insights["partition"]]
      end

      assert_equal [[true, true, 0]], take(seen, 1)
    end

    rule "without inline_insights there are none" do
      topic, seen = topic_with(1), queue
      consuming(topic, kafka: STATISTICS) { seen << [insights, insights?] }

      assert_equal [[{}, false]], take(seen, 1)
    end

    rule "[synchronize] tick and consume never overlap, nor do synchronized blocks of concurrent instances" do
      topic, seen, inside = unique("topic").tap { |name| create_topic(name, 1) }, queue, []
      produce_keyed(topic, Array.new(40) { |index| ["k#{index % 8}", index.to_s] })
      options = lambda do |_route|
        parallel by: :key
        periodic interval: 20
      end
      enter = lambda do |consumer|
        consumer.synchronize do
          consumer.synchronize { inside << consumer }
          seen << inside.size
          Thread.pass
          inside.pop
        end
      end
      consuming(topic, options, concurrency: 4, hooks: {tick: -> { enter.call(self) }}) { enter.call(self) }

      assert_equal [1], take(seen, 42).uniq
    end

    # The offset, once it is committed.
    def committed_at(topic, offset)
      state = -> { @running.map { |running| running.application.snapshot } }
      wait_until(20, "#{topic} at #{offset}", state: state) { committed(topic) == offset }
      offset
    end
  end
end
