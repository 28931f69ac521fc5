# frozen_string_literal: true

require "support/consuming"
require "support/rules"

module Penstock
  # Consumers with manual offsets that gather records over several calls and lose them with an error: everything since the last
  # mark is delivered again, so that no mark passes a record that wasn't written. With any broker; including modules define
  # `kafka`.
  module GatheringContract
    extend TestSupport::Rules

    # Gathers seven records, writes them at once and marks the last one, which in order includes all before it.
    class Gatherer < BaseConsumer
      AT_ONCE = 7

      class << self
        # `fails`: the error raised when the rows are written, if any; `forgets`: whether an error loses all gathered rows.
        attr_accessor :written, :fails, :forgets, :false_marks
      end

      def consume
        held.concat(messages.to_a)
        write(held.shift(AT_ONCE)) while held.size >= AT_ONCE
      rescue
        held.clear if self.class.forgets
        raise
      end

      def shutdown = write(held.shift(held.size))
      def revoked = write(held.shift(held.size))

      private

      def held = @held ||= []

      def write(rows)
        return if rows.empty?
        self.class.fails.call(rows)
        rows.each { |row| self.class.written << row.offset }
        (topic.features[:parallel] ? rows : rows.last(1)).each do |row|
          self.class.false_marks << row.offset unless mark_as_consumed(row)
        end
      end
    end

    # @param fails [#call] called with the rows to write, each time
    # @return [Class]
    def gatherer(base = Gatherer, forgets: true, fails: fails_at(2, 5))
      Class.new(base).tap do |consumer|
        consumer.written, consumer.false_marks = queue, queue
        consumer.fails = fails
        consumer.forgets = forgets
      end
    end

    # @return [Proc] that raises in its n-th call
    def fails_at(*times)
      lock, count = Mutex.new, 0
      ->(_rows) { raise "the warehouse is down" if times.include?(lock.synchronize { count += 1 }) }
    end

    # Runs until no more rows are written, then stops: each consumer instance then holds fewer rows than it writes at once.
    # @return [Array<Integer>] offsets that were written
    def gathered(topic, consumer, count, options: ->(_) {}, instances: 1, **settings)
      route = lambda do |given|
        manual_offset_management true
        instance_exec(given, &options)
      end
      running = yield_running(build(topic, consumer, route, ->(_config) {}, {max_messages: 4, **settings}))
      yield running if block_given?
      wait_until(40, "#{count} records", state: -> { [consumer.written.size, running.application.snapshot] }) do
        consumer.written.size >= count - instances * (Gatherer::AT_ONCE - 1)
      end
      observe_for(0.3)
      assert_equal 0, running.stop
      all(consumer.written)
    end

    def numbered_topic(count, keys = 3)
      unique("topic").tap do |name|
        create_topic(name, 1)
        produce_keyed(name, Array.new(count) { |index| ["k#{index % keys}", index.to_s] })
      end
    end

    {"in order" => [], "by key" => [%i[parallel key]]}.each do |how, division|
      rule "[eofed] #{how}, what a consumer has gathered is delivered again after an error of eofed, and written at the next" do
        topic, written, failed = letters_topics, queue, queue
        write = lambda do
          rows, @gathered = @gathered.to_a, []
          next if rows.empty?
          (failed << true) && raise("no") if failed.empty?
          rows.each { |message| mark_as_consumed(message) && written << message.offset }
        end
        produce_keyed(topic, Array.new(3) { |index| [index.to_s, "p#{index}"] })
        options = lambda do |_|
          division.each { |name, value| public_send(name, value) }
          manual_offset_management true
          eofed true
        end
        consuming(topic, options, hooks: {eofed: write}) do
          @gathered = @gathered.to_a + messages.to_a
          instance_exec(&write) if eofed?
        end

        assert_equal [0, 1, 2], take(written, 3).sort
        await_committed(topic, 3)
      end
    end

    {"all it held" => true, "only what it was about to write" => false}.each do |what, forgets|
      rule "[MOM] a consumer that gathers over calls and loses #{what} with an error has every record written before its mark" do
        topic, events = numbered_topic(60), queue
        consumer = gatherer(forgets: forgets)
        written = gathered(topic, consumer, 60) do |running|
          running.application.monitor.subscribe("consumer.redelivery") { |event| events << event.payload }
        end

        assert_equal (0...60).to_a, written.uniq.sort
        assert_equal 60, committed(topic)
        assert_equal 7, all(events).first[:offset]
      end
    end

    {"by key" => :key, "by message" => :message}.each do |name, by|
      rule "[MOM] #{name}, gathered records of any key are delivered again when the consumer fails" do
        topic = numbered_topic(80, 5)
        consumer = gatherer(fails: fails_at(2, 4, 6, 7))
        options = ->(_) { parallel by: by, max_partitions: 2 }
        written = gathered(topic, consumer, 80, options: options, instances: 2, concurrency: 2)

        assert_equal (0...80).to_a, written.uniq.sort
        assert_equal 80, committed(topic)
      end
    end

    rule "[MOM] a record that moves to a retry topic takes no earlier gathered records with it, in either topic" do
      topic = numbered_topic(40)
      poison = gatherer(fails: ->(_rows) {})
      poison.define_method(:consume) do
        messages.each { |message| raise "no" if message.raw_payload == "12" && message.raw_headers["penstock_attempt"].to_i < 2 }
        super()
      rescue
        held.clear
        raise
      end
      written = gathered(topic, poison, 40, options: ->(_) { retry_topics(delays: [50, 100], finally: false) })

      assert_equal [(0...40).to_a - [12], 40], [written.uniq.sort - [12], committed(topic)]
    end

    rule "[MOM] [DLQ manual] a dead letter takes no earlier gathered records with it, and isn't delivered again" do
      [->(_) {}, ->(_) { parallel by: :key, max_partitions: 2 }].each do |division|
        topic, dead, ran = numbered_topic(40), unique("dead"), queue
        consumer = gatherer(fails: ->(_rows) {})
        consumer.define_method(:consume) do
          messages.each do |message|
            ran << message.offset
            raise "no" if message.offset == 10
          end
          super()
        rescue
          held.clear
          raise
        end
        options = lambda do |route|
          instance_exec(route, &division)
          dead_letter_queue(topic: dead, max_retries: 1)
        end
        written = gathered(topic, consumer, 39, options: options, instances: 2, concurrency: 2)

        assert_equal (0...40).to_a - [10], written.uniq.sort
        assert_equal 40, committed(topic)
        assert_equal 2, all(ran).count(10)
      end
    end

    rule "[MOM] a failing tick may have lost gathered records: they are delivered again" do
      topic = numbered_topic(20)
      consumer = gatherer(fails: fails_at(1, 2))
      consumer.define_method(:consume) { held.concat(messages.to_a) }
      consumer.define_method(:tick) do
        write(held.shift(held.size))
      rescue
        held.clear
        raise
      end
      written = gathered(topic, consumer, 20 + Gatherer::AT_ONCE - 1, options: ->(_) { periodic(interval: 100) })

      assert_equal (0...20).to_a, written.uniq.sort
      assert_equal 20, committed(topic)
    end

    rule "[MOM] a message from before an error can't be marked any more: its record was delivered again" do
      topic, answers, old, failed = numbered_topic(6), queue, [], false
      running = consuming(topic, ->(_) { manual_offset_management true }, max_messages: 3) do
        next answers << [old.first.offset, mark_as_consumed(old.first), mark_as_consumed(messages.last)] if failed
        old.concat(messages.to_a) # a slow broker delivers fewer than three
        failed = messages.last.offset >= 3
        raise "no" if failed
      end
      answer = take(answers, 1).first

      assert_equal [0, false, true], answer
      running.stop
    end

    rule "[MOM] an error together with a seek: the partition continues at the seek's offset, without redelivery" do
      topic, seen = numbered_topic(20), queue
      running = consuming(topic, ->(_) { manual_offset_management true }, max_messages: 4) do
        seen << messages.map(&:offset)
        unless @sought || messages.first.offset < 8
          @sought = true
          seek(14)
          raise "no"
        end
      end
      offsets = take(seen, 5).flatten
      running.stop

      assert_equal [14, 14], [offsets[offsets.index(11) + 1], committed(topic)]
    end
  end
end
