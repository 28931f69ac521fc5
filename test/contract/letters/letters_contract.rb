# frozen_string_literal: true

require_relative "../failing/failing_contract"

module Penstock
  # The options of a dead letter queue, alone and with manual offsets, metadata and keys; with any broker. Helpers are those of
  # {FailingContract}.
  module LettersContract
    include FailingContract

    extend TestSupport::Rules

    LATE = {"auto.commit.interval.ms": 600_000}.freeze

    # An application whose records with the payload "bad" fail.
    def failing(topic, seen, queue_options, *more, **settings)
      options = lambda do |_route|
        more.each { |name, value| public_send(name, value) }
        dead_letter_queue(**queue_options)
      end
      consuming(topic, options, **settings) do
        messages.each do |message|
          seen << [message.offset, attempt]
          raise "no" if message.raw_payload.start_with?("bad")
        end
      end
    end

    rule "poison in several keys, at the beginning, middle and end: each is dead-lettered alone, each key stays in order" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      bad = [0, 21, 37, 3, 38]
      send_records(topic, Array.new(40) { |index| [bad.include?(index) ? "bad #{index}" : index.to_s, "k#{index % 5}"] })
      failing(topic, seen, {topic: dead, max_retries: 1}, [:parallel, :key], concurrency: 4, max_messages: 3)

      assert_equal bad.sort.map { |offset| "bad #{offset}" }, letters(dead, 5).map(&:raw_payload)
      await_committed(topic, 40)
      runs = all(seen)
      bad.each { |offset| assert_equal [1, 2], runs.filter_map { |at, attempt| attempt if at == offset }.uniq, offset }
      # Records before a failing one in its call run again, so each record's last run counts.
      last = runs.map(&:first).reverse.uniq.reverse
      assert_equal (0...40).to_a, last.sort
      last.group_by { |offset| offset % 5 }.each_value { |ones| assert_equal ones.sort, ones }
    end

    rule "without isolation a failed call is repeated unchanged, until it succeeds or all retries are used" do
      topic, dead, calls = letters_topics, unique("dead"), queue
      send_records(topic, [["good", nil], ["good", nil], ["bad", nil], ["good", nil]])
      options = lambda do |_route|
        isolate false
        dead_letter_queue(topic: dead, max_retries: 2)
      end
      consuming(topic, options) do
        calls << [messages.map(&:offset), attempt]
        messages.each { |message| raise "no" if message.raw_payload == "bad" }
      end
      letters(dead, 1)
      await_committed(topic, 4)
      failed = all(calls).select { |offsets, _attempt| offsets.include?(2) }.first(3)

      assert_equal [1, 2, 3], failed.map(&:last)
      assert_equal 1, failed.map(&:first).uniq.size, failed.inspect
      assert_operator failed.first.first.size, :>, 1
    end

    rule "[DLQ independent] a second failing record has all its retries, with and without independent" do
      [true, false].each do |independent|
        topic, dead, seen = letters_topics, unique("dead"), queue
        send_records(topic, [["good", nil], ["bad 1", nil], ["good", nil], ["bad 2", nil]])
        running = failing(topic, seen, {topic: dead, max_retries: 2, independent: independent})

        assert_equal %w[3 3], letters(dead, 2).map { |one| one.raw_headers["source_attempts"] }
        await_committed(topic, 4)
        runs = all(seen)
        [1, 3].each { |offset| assert_equal [1, 2, 3], runs.filter_map { |at, attempt| attempt if at == offset }.last(3) }
        running.stop
      end
    end

    rule "[DLQ MOM default] with manual offsets a letter marks nothing by default, and the record isn't run again" do
      {nil => 0, true => 1}.each do |mark, offset|
        topic, dead, seen = letters_topics, unique("dead"), queue
        send_records(topic, [["bad", nil], ["good", nil]])
        options = {topic: dead, max_retries: 0, mark_after_dispatch: mark}
        running = failing(topic, seen, options, [:manual_offset_management, true])
        assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
        assert_equal [[0, 1], [1, 1]], take(seen, 2)
        running.stop

        assert_empty seen
        assert_equal offset, [committed(topic), 0].max
      end
    end

    rule "[DLQ sync modes] mark_as_consumed! commits after the letter at once, regardless of the interval" do
      topic, dead = letters_topics, unique("dead")
      send_records(topic, [["bad", nil], ["good", nil]])
      options = {topic: dead, max_retries: 0, dispatch_method: :produce_sync, marking_method: :mark_as_consumed!}
      failing(topic, queue, options, kafka: LATE, max_messages: 1)

      wait_until(30, "a commit", state: -> { [committed(topic), *state_of_all] }) { committed(topic).positive? }
      assert_equal 1, letters(dead, 1).size
    end

    rule "[DLQ event/manual dispatch] a consumer dead-letters a record itself, with an event, and it doesn't count as failed" do
      topic, dead, told, listens = letters_topics, unique("dead"), queue, queue
      send_records(topic, [["odd", "k"], ["good", nil]])
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, dispatch_method: :produce_sync) }) do
        listens.pop
        messages.each { |message| dispatch_to_dlq(message) if message.raw_payload == "odd" }
      end
      running.application.monitor.subscribe("dead_letter_queue.dispatched") { |event| told << event.payload }
      2.times { listens << true }

      event = take(told, 1).first
      assert_equal ["odd", 0, dead], [event[:message].raw_payload, event[:message].offset, event[:to]]
      await_committed(topic, 2)
      letter = letters(dead, 1).first
      assert_equal ["odd", "k", "dispatched"], [letter.raw_payload, letter.raw_key, letter.raw_headers["penstock_reason"]]
      assert_empty running.errors
    end

    rule "[unreadable records] a record that can't be deserialized is dead-lettered at once, others after their retries" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      send_records(topic, [['{"n": 1}', nil], ["{broken", nil], ['{"n": "bad"}', nil], ['{"n": 4}', nil]])
      consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 2, unreadable: 0) }) do
        messages.each do |message|
          raise "no" if message.payload["n"] == "bad"
          seen << message.offset
        end
      end
      sent = letters(dead, 2)
      await_committed(topic, 4)

      assert_equal [["{broken", "1", "Penstock::DeserializationError"], ['{"n": "bad"}', "3", "RuntimeError"]],
        sent.map { |one| [one.raw_payload, *one.raw_headers.values_at("source_attempts", "penstock_error_class")] }
      assert_equal [0, 3], all(seen).uniq.sort
    end

    # Twelve records of three keys: those with an even number carry a time to live of a second, all are a minute old.
    def send_expiring(topic)
      at = Clock::SYSTEM.wall_ms - 60_000
      12.times do |index|
        headers = {"number" => index.to_s, **(index.even? ? {"ttl" => "1000"} : {"ttl" => "soon"})}
        produce_keyed(topic, [["k#{index % 3}", "p#{index}"]], headers: headers, timestamp_ms: at + index)
      end
    end

    {"in order" => [[:max_messages, 5]], "by key" => [[:parallel, :key]], "on fibers" => [[:run_on, :fibers]],
     "with manual offsets" => [[:manual_offset_management, true]]}.each do |how, options|
      rule "[expired records to a topic] #{how}, expired records go there unchanged, the others are consumed" do
        topic, expired, ran = letters_topics, unique("expired"), unique("ran")
        create_topic(ran, 1)
        send_expiring(topic)
        route = lambda do |_route|
          options.each { |name, value| public_send(name, value) }
          expire_in 3_600_000, header: "ttl", topic: expired
        end
        running = consuming(topic, route) do
          messages.each { |message| producer.produce_sync(topic: ran, payload: message.raw_payload) }
          mark_as_consumed(messages.last)
        end
        sent = letters(expired, 6)
        await_committed(topic, 12)

        assert_equal Array.new(6) { |index| "p#{index * 2}" }, sent.map(&:raw_payload)
        assert_equal ["k0", topic, "0", "expired", "0", "0", "1000", "Penstock::ExpiredError"],
          [sent.first.raw_key, *sent.first.raw_headers.values_at("source_topic", "source_offset", "penstock_reason",
            "source_attempts", "number", "ttl", "penstock_error_class")]
        assert_equal Array.new(6) { |index| "p#{(index * 2) + 1}" }.sort, letters(ran, 6).map(&:raw_payload).sort
        running.stop
        assert_empty running.errors
      end
    end

    rule "[expired records to a topic] an expired record that is replayed has the time of its replay" do
      topic, expired = letters_topics, unique("expired")
      send_expiring(topic)
      consuming(topic, ->(_) { expire_in(30_000, topic: expired) }) {}
      await_committed(topic, 12)
      again = Processing::Failure::Message.replay(letters(expired, 12).first)
      assert_equal [topic, "p0", nil], [*again.values_at(:topic, :payload), again[:timestamp]]
    end

    rule "[store_offset_metadata] stored metadata is also part of the commit after a letter" do
      topic, dead = letters_topics, unique("dead")
      send_records(topic, [["bad", nil]])
      consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) do
        store_offset_metadata("cursor 7")
        messages.each { raise "no" }
      end

      await_committed(topic, 1)
      assert_equal "cursor 7", committed_map(topic).user_metadata
    end
  end
end
