# frozen_string_literal: true

require "penstock/iterator"
require "penstock/native/consumer"
require "penstock/processing/failure/provenance"
require "support/consuming"
require "support/rules"

module Penstock
  # Records that fail, with any broker. Including modules define `kafka` and `create_topic`.
  module FailingContract
    extend TestSupport::Rules

    # The records' timestamps: recent, because a broker deletes records older than its retention.
    SENT_MS = (Time.now.to_f * 1_000).round - 3_600_000

    rule "[DLQ retries] a failing record is dead-lettered byte by byte, with its source; the others are consumed" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      send_records(topic, [["good", "a"], ["bad\xFF\x00".b, "k\xFE".b], ["fine", "c"]])
      consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 1) }) do
        messages.each do |message|
          seen << [message.offset, attempt]
          raise ArgumentError, "no" if message.offset == 1
        end
      end

      letter = letters(dead, 1).first
      assert_equal ["bad\xFF\x00".b, "k\xFE".b, SENT_MS + 1], [letter.raw_payload, letter.raw_key, letter.timestamp_ms]
      assert_equal ["web", topic, "0", "1", group, "2", "ArgumentError", "no", "failed"],
        letter.raw_headers.values_at("from", "source_topic", "source_partition", "source_offset", "source_consumer_group",
          "source_attempts", "penstock_error_class", "penstock_error_message", "penstock_reason")
      await_committed(topic, 3)
      ran = all(seen).map(&:first)
      assert_equal [2, 1], [ran.count(1), ran.count(2)], ran.inspect
    end

    rule "[DLQ enhanced headers] six source_* headers as text, with the key's bytes; the record's own headers are unchanged" do
      topic, dead = letters_topics, unique("dead")
      send_records(topic, [["good", nil], ["bad", "key\xFF".b]])
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 2) }) do
        messages.each { |message| raise "no" if message.offset == 1 }
      end

      letter = letters(dead, 1).first
      source = letter.raw_headers.select { |name, _value| name.start_with?("source_") }
      trace = source.delete("source_trace_id")
      assert_equal({"source_topic" => topic, "source_partition" => "0", "source_offset" => "1",
        "source_consumer_group" => group, "source_attempts" => "3"}, source)
      assert_match(/\A[\w-]{8,}\z/, trace)
      assert_equal ["key\xFF".b, "web"], [letter.raw_key, letter.raw_headers["from"]]
      running.stop
    end

    rule "[DLQ partition affinity] letters of one source partition are in one partition, in order, for any keys" do
      topic, dead = unique("topic"), unique("dead")
      create_topic(topic, 3)
      create_topic(dead, 5)
      3.times { |partition| produce_keyed(topic, Array.new(16) { |index| ["k#{index}", index.to_s] }, partition: partition) }
      consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) do
        messages.each { |message| raise "no" if message.offset.even? } # if all failed, the breaker would open
      end

      found = letters(dead, 24).group_by { |one| one.raw_headers["source_partition"] }
      assert_equal %w[0 1 2], found.keys.sort
      found.each_value do |ones|
        assert_equal 1, ones.map(&:partition).uniq.size
        assert_equal (0...16).step(2).map(&:to_s), ones.sort_by(&:offset).map(&:raw_payload)
      end
    end

    rule "poison at the beginning, in the middle and at the end: each is dead-lettered, and no healthy record is" do
      topic, dead = letters_topics, unique("dead")
      send_records(topic, Array.new(20) { |index| [index.to_s, nil] })
      consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) do
        messages.each { |message| raise "no" if [0, 9, 10, 19].include?(message.offset) }
      end

      assert_equal %w[0 9 10 19], letters(dead, 4).map(&:raw_payload)
      await_committed(topic, 20)
      assert_equal 4, letters(dead, 4).size
    end

    rule "[DLQ + VP] a failing record is retried, then dead-lettered; other keys continue, its own key stays in order" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      send_records(topic, Array.new(12) { |index| [index.to_s, "k#{index % 3}"] })
      consuming(topic, ->(_) { [parallel(by: :key, max_partitions: 3), dead_letter_queue(topic: dead, max_retries: 1)] },
        concurrency: 3) do
        messages.each do |message|
          raise "no" if message.offset == 4
          seen << [message.raw_key, message.offset]
        end
      end

      assert_equal ["4"], letters(dead, 1).map(&:raw_payload)
      await_committed(topic, 12)
      by_key = all(seen).group_by(&:first).transform_values { |pairs| pairs.map(&:last).uniq }
      assert_equal({"k0" => [0, 3, 6, 9], "k1" => [1, 7, 10], "k2" => [2, 5, 8, 11]}, by_key)
    end

    rule "[enhance_dlq_message] [DLQ strategy] user code changes the letter and chooses its topic" do
      topic, dead = letters_topics, unique("dead")
      send_records(topic, [["skip", nil], ["retry", nil], ["send", nil]])
      strategy = lambda do |errors, attempt|
        case errors.last.message
        when "skip" then :skip
        when "retry" then (attempt < 2) ? :retry : [:dispatch, dead]
        else [:dispatch, dead]
        end
      end
      hooks = {enhance_dlq_message: ->(hash, message) { hash[:headers]["enhanced"] = message.offset.to_s }}
      consuming(topic, ->(_) { dead_letter_queue(topic: :strategy, strategy: strategy) }, hooks: hooks) do
        messages.each { |message| raise message.raw_payload }
      end

      found = letters(dead, 2)
      assert_equal [["retry", "2", "1"], ["send", "1", "2"]],
        found.map { |one| [one.raw_payload, *one.raw_headers.values_at("source_attempts", "enhanced")] }
      await_committed(topic, 3)
    end

    rule "[DLQ topic false] a record is skipped after its retries, and the event reports it" do
      topic, skipped = letters_topics, queue
      send_records(topic, [["bad", nil], ["good", nil]])
      running = consuming(topic, ->(_) { dead_letter_queue(topic: false, max_retries: 1) }) do
        messages.each { |message| raise "no" if message.offset.zero? }
      end
      running.application.monitor.subscribe("consumer.skipped") { |event| skipped << event.payload }

      await_committed(topic, 2)
      assert_equal [[0, 2]], all(skipped).map { |payload| payload.values_at(:offset, :attempt) }
    end

    rule "a record goes through its retry topics, each after its delay, and is dead-lettered after the last" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      send_records(topic, [["once", nil], ["never", nil], ["good", nil]])
      consuming(topic, ->(_) { retry_topics(delays: [300, 600], finally: dead) }) do
        messages.each do |message|
          seen << [message.raw_payload, self.topic.name, ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)]
          raise "no" if message.raw_payload == "never" || (message.raw_payload == "once" && message.raw_headers.empty?)
        end
      end

      assert_equal ["never"], letters(dead, 1).map(&:raw_payload)
      letter = letters(dead, 1).first
      assert_equal [topic, "1", "3"], letter.raw_headers.values_at("source_topic", "source_offset", "source_attempts")
      ran = all(seen)
      times = ran.select { |payload, *| payload == "never" }.to_h { |_payload, name, at| [name, at] }
      assert_operator times.fetch("#{topic}-retry-1") - times.fetch(topic), :>=, 0.29
      assert_operator times.fetch("#{topic}-retry-2") - times.fetch("#{topic}-retry-1"), :>=, 0.59
      assert_equal ["#{topic}-retry-1"], ran.filter_map { |payload, name| name if payload == "once" }.last(1)
      await_committed(topic, 3)
    end

    rule "an outage doesn't dead-letter the whole topic: the breaker holds it until a record succeeds" do
      topic, dead, opened = letters_topics, unique("dead"), queue
      create_topic(dead, 1)
      listening = up = false
      send_records(topic, Array.new(40) { |index| [index.to_s, nil] })
      options = ->(_) { [parallel(by: :message, max_partitions: 8), dead_letter_queue(topic: dead, max_retries: 0)] }
      running = consuming(topic, options, concurrency: 8) do
        TestSupport::Wait.wait_until(40, "listeners") { listening }
        messages.each { raise Errno::ECONNREFUSED, "database" unless up }
      end
      %w[breaker.opened breaker.closed].each { |name| running.application.monitor.subscribe(name) { |event| opened << event.id } }
      listening = true
      wait_until(20, "an open breaker") { opened.size.positive? }
      # Units running at the same time have ended once this many more failed; probes come one by one. Otherwise an error of the
      # outage could be reported after the first success, and start the count again.
      failed = running.errors.size
      wait_until(40, "probes that fail", state: -> { running.errors.size - failed }) { running.errors.size > failed + 8 }
      up = true

      await_committed(topic, 40)
      assert_operator letters(dead, 0).size, :<=, 2, "it opens at the third record"
      assert_equal %w[breaker.opened breaker.closed], all(opened)
    end

    {"dropped" => false, "sent to their topic" => true}.each do |how, sent|
      rule "records that expire during an outage are #{how}, although nothing succeeds" do
        topic, expired, opened = letters_topics, unique("expired"), queue
        create_topic(expired, 1)
        options = lambda do |_|
          dead_letter_queue topic: false, max_retries: 9
          breaker outage_after: 1
          expire_in 3_600_000, header: "ttl", **(sent ? {topic: expired} : {})
        end
        running = consuming(topic, options) { raise Errno::ECONNREFUSED, "database" }
        running.application.monitor.subscribe("breaker.opened") { |event| opened << event[:topic] }
        # They must fail once before they expire.
        wait_until(20, "the partition") { running.application.snapshot.flatten.any? { |loop| loop[:lanes].any? } }
        produce_keyed(topic, Array.new(3) { |index| [index.to_s, "p#{index}"] }, headers: {"ttl" => "700"})

        assert_equal [topic], take(opened, 1)
        await_committed(topic, 3)
        assert_equal(sent ? %w[p0 p1 p2] : [], letters(expired, sent ? 3 : 0).map(&:raw_payload))
      end
    end

    rule "a restart keeps the attempts of a record that is being retried" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      send_records(topic, [["bad", nil]])
      run = lambda do
        consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 3) }) do
          seen << attempt
          raise "no"
        end
      end
      first = run.call
      take(seen, 2)
      first.stop
      run.call

      assert_equal ["4"], letters(dead, 1).map { |one| one.raw_headers["source_attempts"] }
      await_committed(topic, 1)
    end

    rule "a record cleaned before it failed is tried again and dead-lettered like any other, however units are divided" do
      cuts = [->(_) { parallel by: :key }, ->(_) { filter { |message| message.offset != 1 } }, ->(_) { batch min: 2, within: 50 }]
      cuts.each do |cut|
        topic, dead = letters_topics, unique("dead")
        send_records(topic, [["good", nil], ["other", nil], ["bad", nil], ["fine", nil]])
        options = lambda do |route|
          instance_exec(route, &cut)
          dead_letter_queue(topic: dead, max_retries: 1)
        end
        running = consuming(topic, options) do
          messages.each do |message|
            text = message.raw_payload
            message.clean!
            raise "no" if text == "bad"
          end
        end

        assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
        await_committed(topic, 4)
        running.stop
      end
    end

    # Different ways to read a record; no record equals another in any part.
    DESERIALIZERS = lambda do |_route|
      deserializers payload: ->(message) { [message.headers["number"], message.raw_payload] },
        key: ->(message) { [:key, message.raw_key] }, headers: ->(message) { message.raw_headers.merge("read" => "yes") }
    end

    {"in order" => ->(_route) {}, "by key" => ->(_route) { parallel by: :key },
     "by message" => ->(_route) { parallel by: :message }}.each do |name, division|
      rule "#{name}, a failed record and those returned with it have their own key, headers and payload in every attempt" do
        topic, dead, seen, enhanced = letters_topics, unique("dead"), queue, queue
        send_numbered(topic, 9)
        read = ->(message) { [message.offset, message.key, message.headers["number"], message.payload] }
        options = lambda do |route|
          [instance_exec(route, &division), instance_exec(route, &DESERIALIZERS), dead_letter_queue(topic: dead, max_retries: 2)]
        end
        hooks = {enhance_dlq_message: ->(_hash, message) { enhanced << read.call(message) }}
        consuming(topic, options, hooks: hooks, concurrency: 3) do
          messages.each do |message|
            seen << read.call(message)
            raise "no" if message.offset == 4
          end
        end

        assert_equal ["4"], letters(dead, 1).map { |one| one.raw_headers["number"] }
        await_committed(topic, 9)
        ran, enhanced = all(seen), all(enhanced)
        assert_equal numbered(4), enhanced.last
        assert_empty(ran.reject { |row| row == numbered(row.first) })
        assert_equal 3, ran.count { |offset, *| offset == 4 }
      end
    end

    # Records each call of `consume`, and its place among the calls of its unit. The first call from an offset on that isn't
    # the first of its unit does what is due there, once.
    class Quick < BaseConsumer
      class << self
        attr_accessor :done, :calls, :due, :poison, :paused
      end

      def consume
        nth = @penstock_context.instance_variable_get(:@unit).stretch&.calls || 1
        self.class.calls << nth
        Thread.pass if self.class.paused == :soon
        what = take_due if nth.between?(2, 7)
        messages.each do |message|
          meet(what, message) if message.equal?(messages.first)
          raise "poison" if message.offset == self.class.poison
          self.class.done << message.offset
        end
      end

      private

      def take_due
        due = self.class.due
        due.shift.last if due.any? && messages.first.offset >= due.first.first && self.class.paused != :soon
      end

      # It arrives in a later call, or between two of them.
      def pause_soon
        self.class.paused = :soon
        Thread.new do
          pause(:consecutive, 200)
          self.class.paused = :asked
        end
      end

      def meet(what, message)
        case what
        when :fail then raise "not yet"
        when :poison then self.class.poison = message.offset
        when :pause then pause_soon
        when :term
          ::Process.kill(:TERM, ::Process.pid)
          TestSupport::Wait.wait_until(40, "the stop") { stopping? }
        end
      end
    end

    rule "a unit has several quick calls: in every case each record is consumed once, and in order" do
      topic, dead, count = letters_topics, unique("dead"), 15_000
      send_records(topic, Array.new(count) { |index| [index.to_s, nil] })
      quick = Class.new(Quick)
      quick.done, quick.calls = [], []
      quick.due = [[500, :fail], [1_500, :poison], [3_000, :pause], [5_000, :term]]
      options = lambda do |_route|
        breaker false
        dead_letter_queue(topic: dead, max_retries: 1)
      end
      events = queue
      first = build(topic, quick, options, ->(_config) {}, {max_messages: 10})
      first.monitor.subscribe("consumer.consuming.pause") { |event| events << [event[:manual], event[:offset]] }
      code = Thread.new { first.run!(traps: true) }
      wait_until(60, "the end by TERM", state: -> { [quick.due, quick.done.last, first.snapshot] }) { !code.alive? }

      assert_equal [0, []], [code.value, quick.due]
      assert_operator quick.calls.count { |nth| nth > 1 }, :>, 50
      told = all(events)
      assert_equal [1, true], [told.count { |manual, _offset| manual }, told.include?([false, quick.poison])]
      assert_operator quick.done.size, :<, count - 1
      assert_equal quick.done.size + 1, committed(topic)

      yield_running(build(topic, quick, options, ->(_config) {}, {max_messages: 10}))
      await_committed(topic, count)
      assert_equal (0...count).to_a - [quick.poison], quick.done
      assert_equal [quick.poison.to_s], letters(dead, 1).map(&:raw_payload)
    end

    # --- helpers

    def letters_topics = unique("topic").tap { |name| create_topic(name, 1) }

    # @param rows [Array<Array(String, String)>] payload and key
    def send_records(topic, rows)
      producer = Native::Producer.new(native.merge("linger.ms" => "0"))
      rows.each_with_index do |(payload, key), index|
        headers = (index == 1) ? {"from" => "web"} : nil
        producer.produce(topic, payload, key, partition: 0, handle: false, timestamp_ms: SENT_MS + index, headers: headers)
      end
      producer.flush(10_000) or raise "not delivered"
    ensure
      producer&.close(2_000)
    end

    # Records of three keys, each with its number in its payload and its headers.
    def send_numbered(topic, count)
      count.times do |index|
        produce_keyed(topic, [["k#{index % 3}", "p#{index}"]], headers: {"number" => index.to_s}, timestamp_ms: SENT_MS + index)
      end
    end

    # The expected values of one of them.
    def numbered(index) = [index, [:key, "k#{index % 3}"], index.to_s, [index.to_s, "p#{index}"]]

    # Waits for this many dead letters and returns them.
    # @return [Array<Message>] in order
    def letters(topic, count)
      ends = nil
      wait_until(30, "#{count} letters", state: -> { state_of_all }) { (ends = ends_of(topic)).each_value.sum >= count }
      Iterator.new(topic, settings: kafka, timeout_ms: 10_000).sort_by(&:timestamp_ms)
    end

    def ends_of(topic)
      Admin.open(kafka) do |admin|
        count = admin.topics.fetch(topic, 0)
        next {0 => -1} if count.zero?

        admin.read_watermark_offsets(topic => (0...count).to_a)[topic].transform_values(&:last)
      end
    rescue RetriableError
      {0 => -1} # the topic was just created
    end

    def await_committed(topic, offset)
      wait_until(30, "offset #{offset}", state: -> { [committed(topic), *state_of_all] }) { committed(topic) == offset }
    end

    def state_of_all = (@running || []).map { |one| [all(one.errors).last(2), one.application.snapshot] }
  end
end
