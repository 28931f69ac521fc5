# frozen_string_literal: true

require "penstock"
require "penstock/application"
require "penstock/consumer/base_consumer"
require_relative "delivering"
require_relative "wait"

module Penstock
  module TestSupport
    # A small application with a given share of bad records, or whose database is unavailable for a while, and what
    # became of each record: in order, by key with dead letters, or with retry topics.
    module Poison
      # The cost of one record, and how long its retries wait: short compared to the whole run.
      WORK_S = 0.002
      PAUSE_MS = 50
      MAX_RETRIES = 2
      DELAYS = [50, 100].freeze
      # @return [Integer] attempts of a bad record; with retry topics one per topic
      ATTEMPTS = MAX_RETRIES + 1
      # @return [Float] seconds for which the retries of a bad record hold up what follows it
      RETRIES_S = (PAUSE_MS * (2 + 4)) / 1_000.0
      WORKERS = 5

      # A run: when each good record was done, how often each bad one ran, how many became dead letters, and the
      # breaker's events.
      Result = Struct.new(:good, :done, :runs, :letters, :events, :seconds, :attempts, keyword_init: true) do
        # @return [Float] good records per second
        def rate = done.size / seconds

        # @param partitions [Integer]
        # @return [Float] seconds for which retries hold up the partition with the most bad records, in order
        def retries_s(partitions)
          runs.keys.map { |payload| Integer(payload.delete_prefix("bad ")) % partitions }.tally.values.max.to_i * RETRIES_S
        end

        # @return [Array<Hash>] the breakers' events
        def opened = events.select { |event| event[:name] == "breaker.opened" }
        def closed = events.select { |event| event[:name] == "breaker.closed" }
      end

      # A record's payload contains its number and whether it is bad.
      class Consumer < BaseConsumer
        class << self
          attr_accessor :run
        end

        def consume
          messages.each do |message|
            self.class.run.call(message.raw_payload)
            mark_as_consumed(message)
          end
        end
      end

      # One run of an application over a topic of its own.
      class Run
        include Delivering
        include Wait

        # @param kafka [Hash]
        # @param topic [String] must exist, with its dead letter topic `<topic>.dead`
        # @param mode [Symbol] :order and :key with dead letters, :retry and :retry_by_key with retry topics
        # @param count [Integer] records
        # @param bad [#call] whether the record of this number is bad
        # @param away [#call] returns the error with which all records fail now, or nil
        # @param breaker [Hash] options of the route's breaker
        def initialize(kafka, topic, mode, count:, partitions:, bad: ->(_number) { false }, away: -> {}, breaker: {}, keys: 500)
          @kafka = kafka
          @topic = topic
          @mode = mode
          @count = count
          @partitions = partitions
          @bad = bad
          @away = away
          @breaker = breaker
          @keys = keys
          @lock = Mutex.new
          @done = {}
          @runs = Hash.new(0)
          @letters = []
          @events = []
        end

        # @param seconds [Integer] limit for processing everything
        # @return [Result]
        def call(seconds)
          fill
          application = build
          listen(application)
          thread = Thread.new { application.run!(traps: false) }
          wait_until(seconds, "the end of all records", state: method(:state)) { over? || !thread.alive? }
          application.stop!
          thread.join(60)
          result
        end

        private

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

        def fill
          messages = Array.new(@count) do |number|
            {topic: @topic, partition: number % @partitions, key: "k#{(number * 7) % @keys}", payload: payload(number)}
          end
          messages.each_slice(5_000) { |slice| deliver(@kafka.slice(:"bootstrap.servers"), slice) }
        end

        def payload(number) = "#{@bad.call(number) ? "bad" : "good"} #{number}"

        def good = @good ||= Array.new(@count) { |number| number }.count { |number| !@bad.call(number) }

        # In an outage that can't be distinguished from bad records some good ones become dead letters.
        def over? = @done.size + @letters.uniq.size >= @count && @letters.size >= @count - good

        def state
          {done: @done.size, of: good, letters: @letters.size, bad: @count - good, events: @events.last(4)}
        end

        def build
          kafka, topic, mode, breaker = @kafka, @topic, @mode, @breaker
          consumer = Class.new(Consumer) { self.run = nil }
          consumer.run = method(:work)
          application = Application.new(@topic) do |config|
            config.kafka = kafka
            config.group_id = topic
            config.client_id = topic
            config.concurrency = WORKERS
            config.pause.timeout = PAUSE_MS
            config.pause.max_timeout = 10 * PAUSE_MS
            config.logger = Logger.new(nil, level: :info)
          end
          application.routing.draw do
            topic(topic) do
              consumer consumer
              initial_offset "earliest"
              deserializer Serialization::Raw.new
              breaker(**breaker)
              parallel by: :key if mode == :key || mode == :retry_by_key
              next retry_topics(delays: DELAYS, finally: "#{topic}.dead") if mode == :retry || mode == :retry_by_key
              dead_letter_queue topic: "#{topic}.dead", max_retries: MAX_RETRIES
            end
          end
          application
        end

        def listen(application)
          application.monitor.subscribe("dead_letter_queue.dispatched") do |event|
            @lock.synchronize { @letters << event[:message].raw_payload }
          end
          %w[breaker.opened breaker.closed].each do |name|
            application.monitor.subscribe(name) do |event|
              @lock.synchronize { @events << {name: name, **event.payload, at: now} }
            end
          end
        end

        # The consumer's work on a record.
        def work(payload)
          error = @away.call
          raise error if error
          if payload.start_with?("bad")
            @lock.synchronize { @runs[payload] += 1 }
            raise ArgumentError, "no such customer"
          end
          sleep(WORK_S)
          @lock.synchronize do
            @began ||= now
            @done[payload] = @ended = now
          end
        end

        def result
          Result.new(good: good, done: @done, runs: @runs, letters: @letters, events: @events, seconds: @ended.to_f - @began.to_f)
        end
      end
    end
  end
end
