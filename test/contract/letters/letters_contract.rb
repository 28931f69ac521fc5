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
