# frozen_string_literal: true

require "support/consuming"

module Penstock
  # Behaviour that a consuming application may rely on, with any broker. Including modules define `kafka` (settings for the
  # broker) and may add tests that only their broker supports.
  module ConsumingContract
    def self.rule(name, &body) = RULES << [name, body]
    RULES = []
    def self.add_to(base) = RULES.each { |name, body| base.test(name, &body) }

    rule "[routing basic] records arrive in order, in the group of the settings" do
      topic, seen = topic_with(250), queue
      consuming(topic) { messages.each { |message| seen << message.offset } }

      assert_equal (0...250).to_a, take(seen, 250)
    end

    rule "[auto marking] a restart continues after the last batch" do
      topic, seen = topic_with(30), queue
      first = consuming(topic) { messages.each { |message| seen << message.offset } }
      take(seen, 30)
      assert_equal 0, first.stop
      assert_equal 30, committed(topic)
      produce(topic, %w[next])
      consuming(topic) { messages.each { |message| seen << message.offset } }

      assert_equal [30], take(seen, 1)
    end

    {"earliest" => 50, "latest" => 30}.each do |reset, first|
      rule "unread records that retention deleted are reported where the group continues at the log's end: #{reset}" do
        topic, resets = topic_with(50), queue
        marking = consuming(topic, ->(_) { manual_offset_management true }) do
          messages.each { |message| mark_as_consumed!(message) if message.offset == 9 }
        end
        wait_until(20, "a commit") { committed(topic) == 10 }
        marking.stop
        delete_records(topic, first)
        consumer = Class.new(BaseConsumer) { define_method(:consume) {} }
        settings = {kafka: {"auto.offset.reset": reset, "auto.commit.interval.ms": 200}}
        application = build(topic, consumer, ->(_) {}, ->(_) {}, settings)
        application.monitor.subscribe("consumer.offset_reset") { |event| resets << event.payload.values_at(:old_offset, :count) }
        yield_running(application)

        assert_equal [[10, 40]], take(resets, 1)
        wait_until(20, "the end is committed", state: -> { application.snapshot }) { committed(topic) == 50 }
        assert_empty resets
      end
    end

    rule "[MOM] with manual offsets nothing is committed without a mark" do
      topic, seen = topic_with(5), queue
      first = consuming(topic, ->(_) { manual_offset_management true }) { messages.each { |message| seen << message.offset } }
      take(seen, 5)
      first.stop
      second = consuming(topic, ->(_) { manual_offset_management true }) do
        messages.each do |message|
          seen << message.offset
          mark_as_consumed(message) if message.offset < 3
        end
      end

      assert_equal (0..4).to_a, take(seen, 5)
      second.stop
      assert_equal 3, committed(topic)
    end

    rule "[commit_offsets!] marked offsets can be read at once" do
      topic, answers = topic_with(3), queue
      reader = method(:committed)
      consuming(topic, ->(_) { manual_offset_management true }) do
        mark_as_consumed(messages.to_a[1])
        answers << [commit_offsets!, reader.call(topic)]
      end

      assert_equal [[true, 2]], take(answers, 1)
    end

    rule "[mark!] a mark with an exclamation mark waits for the broker" do
      topic, answers = topic_with(3), queue
      reader = method(:committed)
      consuming(topic) { answers << [mark_as_consumed!(messages.last), reader.call(topic)] }

      assert_equal [[true, 3]], take(answers, 1)
    end

    rule "[attempt/retrying?] a failing record is tried again, its attempt count grows, and order is kept" do
      topic, seen = topic_with(6), queue
      consuming(topic) do
        messages.each do |message|
          seen << [message.offset, attempt, retrying?]
          raise "not yet" if message.offset == 3 && attempt < 3
        end
      end
      runs = take(seen, 4 + 4 + 1 + 2)

      assert_equal [[3, 1, false], [3, 2, true], [3, 3, true]], runs.select { |offset, *| offset == 3 }
      assert_equal [4, 5], runs.last(2).map(&:first)
    end

    rule "[seek offset/Time] the next batch begins at the given offset" do
      topic, seen = topic_with(10), queue
      sought = false
      consuming(topic) do
        messages.each { |message| seen << message.offset }
        unless sought
          sought = true
          seek(4)
        end
      end

      assert_equal [*0..9, *4..9], take(seen, 16)
    end

    rule "[seek latest/earliest] latest waits for the next new record, earliest starts from the beginning" do
      topic, seen = topic_with(5), queue
      steps = [:latest, :earliest]
      consuming(topic, max_messages: 1) do
        seen << messages.first.offset
        seek(steps.shift) if steps.any? && (messages.first.offset.zero? || messages.first.offset == 5)
      end

      assert_equal [0], take(seen, 1)
      observe_for(0.3)
      produce(topic, %w[new])
      assert_equal [5, 0, 1, 2, 3, 4, 5], take(seen, 7)
    end

    rule "[pause manual] a batch that paused isn't marked and resumes at its offset" do
      topic, seen = topic_with(4), queue
      paused = false
      consuming(topic) do
        messages.each { |message| seen << message.offset }
        unless paused
          paused = true
          pause(messages.to_a[1].offset, 50)
        end
      end

      assert_equal [0, 1, 2, 3, 1, 2, 3], take(seen, 7)
    end

    rule "[eofed] the hook runs at the end of the partition, and only without messages" do
      topic, ends = topic_with(0), queue # with records the end may come together with the last of them
      consuming(topic, ->(_) { eofed true }, hooks: {eofed: -> { ends << [eofed?, messages.size] }}) { messages.size }
      assert_equal [[true, 0]], take(ends, 1)
    end

    rule "[offset metadata] the next owner reads the metadata that was committed with the offset" do
      topic, seen = topic_with(2), queue
      first = consuming(topic) { seen << mark_as_consumed(messages.last, "page 7") }
      take(seen, 1)
      first.stop
      seen.clear # they may come in two calls
      produce(topic, %w[more])
      consuming(topic) { seen << offset_metadata }

      assert_equal ["page 7"], take(seen, 1)
    end

    rule "[store_offset_metadata] the metadata is part of the next automatic commit" do
      topic, seen = topic_with(2), queue
      first = consuming(topic) { seen << store_offset_metadata("kept") }
      take(seen, 1)
      first.stop
      seen.clear # they may come in two calls
      produce(topic, %w[more])
      consuming(topic) { seen << offset_metadata }

      assert_equal ["kept"], take(seen, 1)
    end

    rule "[custom deserializers] payload, key and headers use the route's own deserializers" do
      topic, seen = topic_with(1), queue
      consuming(topic, ->(_) {
        deserializers payload: ->(m) { m.raw_payload * 2 }, key: ->(_) { :key }, headers: ->(_) {
          :headers
        }
      }) do
        seen << [messages.first.payload, messages.first.key, messages.first.headers]
      end
      assert_equal [["00", :key, :headers]], take(seen, 1)
    end

    rule "[KIP-82 headers] a record without headers has an empty Hash, which can be asked for names" do
      topic, seen = topic_with(1), queue
      consuming(topic) { messages.each { |message| seen << [message.headers, message.raw_headers, message.headers["trace"]] } }

      assert_equal [[{}, {}, nil]], take(seen, 1)
    end

    rule "[TSTP quiet] no new work starts, shutdown hooks run, the process stays until it is stopped" do
      topic, seen = topic_with(3), queue
      running = consuming(topic, hooks: {shutdown: -> { seen << :shutdown }}) { seen << messages.size }
      take(seen, 1)
      running.quiet
      assert_equal [:shutdown], take(seen, 1)
      produce(topic, %w[ignored])
      observe_for(0.5)
      assert_equal [0, true], [seen.size, running.alive?]
      assert_equal 0, running.stop
    end

    rule "[TERM with stuck job] at its time limit the process ends with code 2 and names the job" do
      topic, begun, release = topic_with(1), queue, queue
      running = consuming(topic, shutdown_timeout: 1_500) do
        begun << true
        Thread.handle_interrupt(Exception => :never) { release.pop }
      end
      take(begun, 1)
      assert_equal 2, running.stop
      texts = Array.new(running.errors.size) { running.errors.pop }.map { |event| event[:error].message }
      assert(texts.any? { |text| text.include?("#{topic}/0") }, texts.inspect)
    ensure
      release&.push(true)
    end

    rule "a job that only sleeps is interrupted at the time limit of a stop: code 2, and its record is consumed again" do
      topic, seen = topic_with(1), queue
      running = consuming(topic, shutdown_timeout: 2_000) do
        seen << messages.first.offset
        TestSupport::Wait.observe_for(30)
      end
      take(seen, 1)
      assert_equal 2, running.stop
      consuming(topic) { seen << messages.first.offset }

      assert_equal [0], take(seen, 1)
    end

    rule "[critical error] it stops the process once, and the record is delivered again" do
      topic, seen = topic_with(2), queue
      running = consuming(topic) do
        seen << messages.first.offset
        raise NoMemoryError, "simulated"
      end
      assert_equal 0, running.code
      consuming(topic) { seen << messages.first.offset }

      assert_equal [0, 0], take(seen, 2)
    end

    rule "[pattern topics] a topic created at runtime is consumed" do
      prefix, seen = unique("pattern"), queue
      create_topic("#{prefix}-a", 1)
      consumer = Class.new(BaseConsumer) { define_method(:consume) { seen << [topic.name, messages.first.raw_payload] } }
      application = build("unused", consumer, ->(_) {}, ->(_) {}, {kafka: {"topic.metadata.refresh.interval.ms": 300}})
      application.routing.redraw { pattern(/#{Regexp.escape(prefix)}.*/) { consumer consumer } }
      yield_running(application)
      produce("#{prefix}-a", %w[one])
      assert_equal [["#{prefix}-a", "one"]], take(seen, 1)
      create_topic("#{prefix}-b", 1)
      produce("#{prefix}-b", %w[two])

      assert_equal [["#{prefix}-b", "two"]], take(seen, 1, 40)
    end

    rule "[statistics _d/_fd] statistics contain the changes of their numbers" do
      topic, seen = topic_with(1), queue
      application = build(topic, Class.new(BaseConsumer) {
        def consume
          nil
        end
      }, ->(_) {}, ->(_) {}, {kafka: {"statistics.interval.ms": 100}})
      application.monitor.subscribe("statistics.emitted") { |event| seen << event[:statistics] }
      yield_running(application)

      assert(take(seen, 3).last.key?("rxmsgs_d"))
    end

    rule "[Stats filter] statistics have the assigned partitions of a large topic, and no others" do
      topic, seen = topic_with(1, partitions: 40), queue
      application = build(topic, Class.new(BaseConsumer) { def consume = nil }, ->(route) { route.assign(3, 17) }, ->(_) {},
        {kafka: {"statistics.interval.ms": 100}})
      application.monitor.subscribe("statistics.emitted") { |event| seen << event[:statistics] }
      yield_running(application)
      last = wait_until(20, "statistics of both partitions") do
        all(seen).find { |one| one.dig("topics", topic, "partitions").to_h.size == 2 }
      end

      assert_equal [[topic], %w[3 17]], [last["topics"].keys, last["topics"][topic]["partitions"].keys]
      figures = last["topics"][topic]["partitions"]["3"]
      names = figures.select { |name, value| value.is_a?(Numeric) && !name.end_with?("_d", "_fd") }.keys
      assert_empty %w[consumer_lag committed_offset hi_offset rxmsgs] - names
      assert_empty names.reject { |name| figures.key?("#{name}_d") && figures.key?("#{name}_fd") }
    end

    rule "[Stats off] a connection without a listener has no statistics, and a later subscriber gets an error with the reason" do
      topic, seen = topic_with(1), queue
      running = consuming(topic) { seen << messages.size }
      take(seen, 1)
      monitor = running.application.monitor
      error = assert_raises(StatisticsNotEnabledError) { monitor.subscribe("statistics.emitted") { nil } }
      running.stop

      assert_match(/subscribe to statistics.emitted before the application runs, or set statistics.interval.ms/, error.message)
      assert_respond_to monitor.subscribe("statistics.emitted") { nil }, :call, "for its next run"
    end

    rule "[Stats off] with an interval of one's own there are statistics, also for a later subscriber" do
      topic, seen, emitted = topic_with(1), queue, queue
      running = consuming(topic, kafka: {"statistics.interval.ms": 100}) { seen << messages.size }
      take(seen, 1)
      running.application.monitor.subscribe("statistics.emitted") { |event| emitted << event[:consumer_group_id] }

      assert_equal [group], take(emitted, 1)
    end

    rule "[app.initialized] it is emitted once, when settings and routes are final" do
      topic, seen = topic_with(1), queue
      application = build(topic, Class.new(BaseConsumer) { def consume = nil }, ->(_) {}, ->(_) {}, {})
      application.monitor.subscribe("app.initialized") { seen << application.config.client_id }
      yield_running(application).stop

      assert_equal ["contract"], take(seen, 1)
      assert_empty seen
    end

    rule "[shutdown hook] it runs once per instance, with the messages of the last call" do
      topic, seen = topic_with(1), queue
      running = consuming(topic, hooks: {shutdown: -> {
        seen << [:shutdown, messages.map(&:offset), messages.metadata.size]
      }}) { seen << 1 }
      take(seen, 1)
      running.stop

      assert_equal [[:shutdown, [0], 1]], take(seen, 1)
      assert_empty seen
    end

    rule "[after-consume failure] an error after consume is reported and the batch is tried again" do
      topic, seen = topic_with(2), queue
      fail_behind = [true]
      layer = lambda do |_consumer, action, &work|
        work.call
        raise "behind" if action == :consume && fail_behind.shift
      end
      consumer = Class.new(BaseConsumer) { define_method(:consume) { seen << [messages.first.offset, attempt] } }
      application = build(topic, consumer, ->(_) {}, ->(_) {}, {})
      application.middleware { use layer }
      running = yield_running(application)

      assert_equal [[0, 1], [0, 1]], take(seen, 2)
      assert_equal "behind", running.errors.pop[:error].message
    end

    rule "[auto.offset.reset error] without an offset to begin at an error is reported, and no offset is chosen" do
      topic, seen = topic_with(2), queue
      running = consuming(topic, kafka: {"auto.offset.reset": "error"}) { seen << messages.size }
      error = wait_until(20, "an error") { !running.errors.empty? && running.errors.pop }

      assert_equal :auto_offset_reset, error[:error].code
      assert_empty seen
    end

    rule "[early yield on EOF] a batch doesn't wait for max_wait_time" do
      topic, seen = topic_with(1), queue
      consuming(topic, max_wait_time: 9_000) { seen << messages.size }
      take(seen, 1)
      started = Clock::SYSTEM.monotonic_ms
      produce(topic, %w[next])
      take(seen, 1)

      assert_operator Clock::SYSTEM.monotonic_ms - started, :<, 4_500
    end

    rule "[debug!] librdkafka's debug lines reach the log" do
      topic, log = topic_with(1), StringIO.new
      application = build(topic, Class.new(BaseConsumer) { def consume = nil }, ->(_) {},
        ->(config) { config.logger = Logger.new(log) }, {})
      application.debug!("cgrp")
      yield_running(application)

      assert(wait_until(10, "a debug line") { log.string.match?(/CGRP|JOIN/) })
    end

    rule "[debug!] the debug lines of the producer's client reach the log too" do
      topic, log = topic_with(0), StringIO.new
      application = build(topic, Class.new(BaseConsumer) { def consume = nil }, ->(_) {},
        ->(config) { config.logger = Logger.new(log) }, {})
      application.debug!("msg")
      application.producer.produce_sync(topic: topic, payload: "one")

      assert(wait_until(10, "a debug line", state: -> { log.string }) { log.string.match?(/librdkafka PRODUCE: .*#{topic}/) })
    ensure
      application&.producer&.close
    end

    rule "two applications run in one process" do
      topic, seen = topic_with(2), queue
      consuming(topic) { seen << [:first, messages.size] }
      @group = unique("other")
      consuming(topic) { seen << [:second, messages.size] }

      assert_equal %i[first second], take(seen, 2).map(&:first).sort
    end
  end
end
