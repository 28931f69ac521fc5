# frozen_string_literal: true

require "penstock"
require "penstock/delays/delayed_message"
require "support/consuming"
require "support/delays"
require "support/rules"

module Penstock
  # Delayed messages from `schedule` to their topic, with any broker. Including modules define `kafka` (settings for the broker).
  module DelaysContract
    extend TestSupport::Rules

    # Tiers like the real ones, faster.
    TIERS = [100, 500, 2_000].freeze

    rule "a delayed message arrives as it was sent, and not early" do
      topic, seen = topic_with(0, partitions: 3), queue
      running = delaying(topic, seen)
      message = {topic: topic, payload: "p", key: "k", partition: 2, timestamp: 1_500_000_000_000,
                 headers: {"a" => %w[1 2], "b" => nil}}
      due = now_ms + 1_300
      running.application.delays.schedule(message, at: due)
      arrived, at = take(seen, 1).first

      assert_equal ["p", "k", 2, 1_500_000_000_000],
        [arrived.raw_payload, arrived.raw_key, arrived.partition, arrived.timestamp_ms]
      assert_equal({"a" => %w[1 2], "b" => nil}, arrived.raw_headers.reject { |name, _| name.start_with?("penstock_") })
      assert_equal %w[penstock_delay_until penstock_delay_id], arrived.raw_headers.keys.grep(/penstock_/)
      assert_equal due.to_s, arrived.raw_headers["penstock_delay_until"]
      assert_operator at, :>=, due
    end

    rule "a message whose time has passed is sent directly; without delay topics a delay is refused" do
      topic, seen = topic_with(0), queue
      running = consuming(topic) { messages.each { |message| seen << message } }
      running.application.delays.schedule({topic: topic, payload: "now"}, at: Time.now - 1)

      assert_empty take(seen, 1).first.raw_headers
      error = assert_raises(ConfigurationError) {
        running.application.delays.schedule({topic: topic, payload: "x"}, at: Time.now + 9)
      }
      assert_match(/Write delay_topics/, error.message)
    end

    rule "a message that its target refuses is set back without holding the others; a damaged record is dead-lettered whole" do
      topic, seen, dead, events = topic_with(0), queue, queue, queue
      running = delaying(topic, seen, dead)
      running.application.monitor.subscribe("delay.forwarded") { |event| events << event.payload.to_h }
      due = now_ms + 2_000
      messages = [{topic: topic, payload: "nowhere", partition: 99}, {topic: topic, payload: "fine"}].map { |one| [one, due] }
      running.application.delays.schedule_many(messages)
      running.application.producer.produce_sync(topic: "#{group}.delay.1", payload: "odd",
        headers: {"penstock_delay_until" => "1"})
      letter = take(dead, 1).first

      assert_equal "fine", take(seen, 1).first.first.raw_payload
      assert_equal ["odd", "1"], [letter.raw_payload, letter.raw_headers["penstock_delay_until"]]
      assert_match(/penstock_delay_topic is missing/, letter.raw_headers["penstock_error_message"])
      wait_until(20, "it is set back", state: -> { events.size }) { !events.empty? && events.pop[:set_back] == 1 }
      assert_empty seen
    end

    rule "2,000 delayed messages through a stop and two kill -9: none early, none lost, and copies have the same id" do
      topic = topic_with(0, partitions: 2)
      dues = schedule_all(topic, 2_000, 1_500..6_000)
      fleet = TestSupport::Delays.new(kafka: {**kafka, "session.timeout.ms": 6_000, "auto.commit.interval.ms": 300}, group: group,
        delays: TIERS, target: topic)
      first = fleet.start
      arrived(fleet, 100)
      second = fleet.start
      fleet.stop(first, "KILL")
      arrived(fleet, 700)
      fleet.stop(second, "KILL")
      third = fleet.start
      arrived(fleet, 1_300)
      status = fleet.stop(third)
      assert status.success?, "#{status}: #{fleet.tail}"
      fleet.start
      arrived(fleet, 2_000)
      check(fleet.arrivals, dues)
    ensure
      fleet&.close
    end

    private

    def schedule_all(topic, count, range)
      application = build(unique("unused"), Class.new(BaseConsumer) { def consume = nil }, ->(_route) {}, ->(_config) {}, {})
      application.routing.draw { delay_topics delays: TIERS }
      random = Random.new(5)
      start = now_ms
      dues = Array.new(count) { |index| [index.to_s, start + random.rand(range)] }.to_h
      application.delays.schedule_many(dues.map { |payload, due| [{topic: topic, payload: payload, key: payload}, due] })
      dues
    ensure
      application&.producer&.close
    end

    def arrived(fleet, count)
      wait_until(60, "#{count} have arrived", state: -> { [fleet.arrivals.size, fleet.tail] }) do
        fleet.arrivals.map(&:payload).uniq.size >= count
      end
    end

    def check(arrivals, dues)
      # On a busy machine a few are due before they are sent: these aren't delayed, and have no due time.
      delayed, direct = arrivals.partition { |arrival| arrival.due.positive? }
      assert_operator direct.size, :<, dues.size / 4
      assert_equal dues, dues.slice(*direct.map(&:payload)).merge(delayed.to_h { |arrival| [arrival.payload, arrival.due] })
      assert_empty(arrivals.select { |arrival| arrival.at < dues.fetch(arrival.payload) })
      arrivals.group_by(&:payload).each_value { |copies| assert_equal 1, copies.map(&:id).uniq.size }
    end

    def now_ms = Clock::SYSTEM.wall_ms

    # An application with delay topics and a topic whose messages are collected with the time at which they are read.
    def delaying(topic, seen, dead = nil, **settings)
      consumer = Class.new(BaseConsumer) do
        define_method(:consume) { messages.each { |message| seen << [message, Clock::SYSTEM.wall_ms] } }
      end
      application = build(topic, consumer, ->(_route) {}, ->(_config) {}, settings)
      letters = "#{group}.delay.dead"
      application.routing.draw do
        delay_topics delays: TIERS
        if dead
          topic(letters) { consumer(Class.new(BaseConsumer) { define_method(:consume) { messages.each { |one| dead << one } } }) }
        end
      end
      yield_running(application)
    end
  end
end
