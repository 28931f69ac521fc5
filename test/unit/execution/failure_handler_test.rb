# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "support/virtual_clock"
require "penstock/consumer/errors_tracker"
require "penstock/execution/failure_handler"
require "penstock/instrumentation/monitor"
require "penstock/routing/features/expire_in"

module Penstock
  class FailureHandlerTest < TestCase
    include TestSupport::Failing

    # Remembers the messages it was to make ready; refuses those that the test specifies.
    class Producer
      attr_reader :asked
      attr_accessor :refuses, :limit

      def initialize = @asked = []

      def ready(message)
        @asked << message
        raise MessageTooLargeError, "no" if @limit && message[:payload].bytesize > @limit
        raise MessageInvalidError, "no" if @refuses&.call(message)

        message
      end
    end

    Consumer = Struct.new(:producer)
    Clock = Struct.new(:wall_ms)

    def setup
      @producer = Producer.new
      @errors = []
      @monitor = Instrumentation::Monitor.new
      @monitor.subscribe("error.occurred") { |event| @errors << event.payload }
      @tracker = Penstock::Consumer::ErrorsTracker.new("orders", 0)
    end

    def failure_handler
      Execution::FailureHandler.new(monitor: @monitor, clock: Clock.new(9_000), producer: -> {
        @producer
      }, critical: [NoMemoryError])
    end

    # @param count [Integer] records of the unit; the first is blamed by default
    def handle(features, error: RuntimeError.new("no"), count: 1, blamed: 0, attempt: 1, consumer: Consumer.new(@producer))
      lane = filled(count, features)
      (attempt - 1).times { lane.attempts.fail(0) }
      unit = lane.next_unit
      @tracker << error
      failure_handler.call(consumer, unit, error, blamed, @tracker)
    end

    test "no user code is asked where a route doesn't handle failures, nor about critical errors and interrupts" do
      assert_nil handle({})
      assert_nil handle(dead_letters(0), error: NoMemoryError.new)
      assert_nil handle(dead_letters(0), error: Interrupted.new)
      assert_empty @producer.asked
    end

    def unreadable_error(offset = 0, cause: nil)
      raise cause if cause
      DeserializationError.new(topic: "orders", partition: 0, offset: offset)
    rescue
      begin
        raise DeserializationError.new(topic: "orders", partition: 0, offset: offset)
      rescue DeserializationError => error
        error
      end
    end

    test "[unreadable records] the letter of an unreadable record is built at its first failure, of others after all retries" do
      route = dead_letters(3, unreadable: 0)
      results = handle(route, error: unreadable_error)
      assert_equal [true, :dead_letter], [results.unreadable, results.letter.kind]
      assert_equal [false, nil], handle(route).then { |other| [other.unreadable, other.letter] }
      assert_nil handle(dead_letters(3), error: unreadable_error).letter, "without the option all errors are alike"
      assert_nil handle(dead_letters(3, unreadable: 1), error: unreadable_error).letter
      refute_nil handle(dead_letters(3, unreadable: 1), error: unreadable_error, attempt: 2).letter
    end

    test "[unreadable records] an error wrapped by user code counts too; one of another record, or of an outage, doesn't" do
      route = dead_letters(3, unreadable: 0)
      wrapped = begin
        begin
          raise unreadable_error
        rescue
          raise "can't parse"
        end
      rescue => error
        error
      end
      assert handle(route, error: wrapped).unreadable
      refute handle(route, error: unreadable_error(1), count: 2).unreadable
      refute handle(route, error: unreadable_error(cause: Errno::ECONNREFUSED)).unreadable, "a registry is down"
      refute handle({**route, breaker: breaking(outage_errors: %w[KeyError])},
        error: unreadable_error(cause: KeyError)).unreadable
      assert handle({**route, breaker: breaking(outage_errors: %w[KeyError])}, error: unreadable_error(cause: Errno::EPIPE)).unreadable
    end

    test "[unreadable records] in retry topics they go to the end at once, or after that many topics" do
      tiers = ->(unreadable, tier = 0) {
        {retry_topics: Routing::RetryTopics.new("orders", [10, 20], "dead", tier, "wait", unreadable), breaker: false}
      }
      assert_equal :dead_letter, handle(tiers.call(0), error: unreadable_error).letter.kind
      assert_equal :retry, handle(tiers.call(0)).letter.kind
      assert_equal :retry, handle(tiers.call(nil), error: unreadable_error).letter.kind
      assert_equal :retry, handle(tiers.call(1), error: unreadable_error).letter.kind
      assert_equal :dead_letter, handle(tiers.call(1, 1), error: unreadable_error).letter.kind
    end

    EXPIRING = {expire_in: Routing::ExpireIn.new(1_000, nil, "expired")}.freeze

    test "[expired records to a topic] letters have the record unchanged, its origin and the reason, and no attempt" do
      lane = filled(2, {**EXPIRING, **dead_letters(0)})
      unit = lane.next_unit
      letters = failure_handler.expire(unit).letters
      assert_equal [[0, :expired, 0], [1, :expired, 0]], letters.map { |one| [one.offset, one.kind, one.attempt] }
      first = letters.first.dispatch
      assert_equal ["expired", "p0", "0", "0", "expired", "Penstock::ExpiredError"],
        [first[:topic], first[:payload], *first[:headers].values_at("source_offset", "source_attempts", "penstock_reason",
          "penstock_error_class")]
    end

    test "the letter of a record that expires before a retry counts the attempts it had" do
      lane = filled(1, EXPIRING)
      2.times { lane.attempts.fail(0) }
      assert_equal ["2", []],
        [failure_handler.expire(lane.next_unit).letters.first.dispatch[:headers]["source_attempts"], @errors]
    end

    test "after a letter of an expired record that can't be built, no other is, and it is reported once" do
      @producer.refuses = ->(message) { message[:payload] == "p1" }
      letters = failure_handler.expire(filled(4, EXPIRING).next_unit).letters
      assert_equal [[0], 1], [letters.map(&:offset), @errors.size]
    end

    test "a dead letter has the bytes of a record that the consumer had cleared" do
      lane = rolling(%w[a], dead_letters(0))
      unit = lane.next_unit
      unit.messages.batch.context = Messages::Context.new(lane.topic.deserializers)
      unit.messages.each(&:clean!)
      results = failure_handler.call(Consumer.new(@producer), unit, RuntimeError.new, 0, @tracker)
      assert_equal ["p", "p"], [results.letter.dispatch[:payload], results.letter.record.payload]
      assert_empty @errors
    end

    test "a record whose error has no readable message is dead-lettered like any other" do
      odd = Class.new(StandardError) { def message = raise("no message") }
      results = handle(dead_letters(0), error: odd.new)
      assert_equal "(its message raised RuntimeError)", results.letter.dispatch[:headers]["penstock_error_message"]
      assert_empty @errors
    end

    test "a dead letter is built only when the record may be dead-lettered" do
      assert_nil handle(dead_letters(2), attempt: 2).letter
      letter = handle(dead_letters(2), attempt: 3).letter

      assert_equal ["dead", :dead_letter, 3, 0], [letter.topic, letter.kind, letter.attempt, letter.offset]
      assert_equal [@tracker.trace_id, "9000", "3"],
        letter.dispatch[:headers].values_at("source_trace_id", "penstock_failed_at", "source_attempts")
    end

    test "the blamed record of a batch has failed once, however often the batch's first record has failed" do
      letter = handle(dead_letters(0), count: 3, blamed: 2, attempt: 2).letter
      assert_equal [2, 1], [letter.offset, letter.attempt]
    end

    # @param keys [Array<String>, nil] of the records, where keys run in parallel
    # @yieldparam unit [Processing::Unit] of four records, the third of which fails; marks some of them
    # @return [Array] offset and attempt of the letter, what error.occurred reports, offset of the letter that is sent
    def handle_marked(route, keys: nil, error: RuntimeError.new("no"))
      lane = keys ? rolling(keys, route, max: 4) : filled(4, route)
      unit = lane.next_unit
      yield unit, lane
      reported = failure_handler.forecast(unit, error, 2)[:next]
      results = failure_handler.call(Consumer.new(@producer), unit, error, 2, @tracker << error)
      sent = settled(lane, unit, error: error, blamed: 2, results: results).letters.map { |request| request.letter.offset }
      [results.offset, results.letter&.attempt, reported, *sent]
    end

    test "with isolate false a failure counts for the first record that isn't marked: its letter is ready at the last attempt" do
      route = {isolate: false, **dead_letters(0)}
      assert_equal [2, 1, :dead_letter, 2], handle_marked(route) { |_unit, lane| lane.marks.mark(1) }
      assert_equal [0, 1, :dead_letter, 0], handle_marked(route) { nil }
      assert_equal [2, 1, :dead_letter, 2], handle_marked(route) { |_unit, lane| lane.complete_through(2) }, "by a transaction"
      assert_equal [2, 1, :dead_letter, 2], handle_marked(route, keys: %w[a a a a]) { |unit, _lane| unit.marks.mark(1) }
    end

    test "with isolate false the error of the first unmarked record shows whether that is unreadable" do
      route = {isolate: false, **dead_letters(3, unreadable: 0)}
      assert_equal [2, 1, :dead_letter, 2],
        handle_marked(route, error: unreadable_error(2)) { |_unit, lane| lane.marks.mark(1) }
    end

    test "[DLQ strategy] it gets the errors and the attempt, and decides with a topic or without" do
      seen = []
      answers = [:retry, :skip, [:dispatch, :elsewhere]]
      strategy = ->(errors, attempt) { seen.push([errors.last.message, attempt]) && answers.shift }
      found = Array.new(3) { handle(dead_letters(9, strategy: strategy)) }

      assert_equal [["no", 1]] * 3, seen
      assert_equal [[:retry, nil], [:skip, nil], [:dispatch, "elsewhere"]], found.map(&:answer)
      assert_equal [nil, nil, "elsewhere"], found.map { |results| results.letter&.topic }
    end

    test "an error or an invalid answer of a strategy is reported, and the record is tried again" do
      [->(*) { raise "broken" }, ->(*) { :later }, ->(*) { [:dispatch, 7] }].each do |strategy|
        assert_nil handle(dead_letters(0, strategy: strategy)).letter
      end
      assert_nil handle(dead_letters(0, topic: :strategy, strategy: ->(*) { :dispatch })).letter
      assert_equal [RuntimeError, UnsupportedCaseError, UnsupportedCaseError, UnsupportedCaseError],
        @errors.map { |payload| payload[:error].class }
      assert_equal ["consumer.error_callback.error"], @errors.map { |payload| payload[:type] }.uniq
    end

    test "[enhance_dlq_message] may change anything, also as a private method" do
      consumer = Class.new(Consumer) do
        private

        def enhance_dlq_message(message, record)
          message[:key] = "new"
          message[:headers]["at"] = record.offset.to_s
        end
      end
      letter = handle(dead_letters(0), consumer: consumer.new(@producer)).letter
      assert_equal ["new", "0"], [letter.dispatch[:key], letter.dispatch[:headers]["at"]]
    end

    test "changes that raise, or make a message that can't be sent, are reported and dropped" do
      [->(_message) { raise "broken" }, ->(message) { message[:payload] = 5 }].each do |change|
        consumer = Class.new(Consumer) { define_method(:enhance_dlq_message) { |message, _record| change.call(message) } }
        @producer.refuses = ->(message) { message[:payload] == 5 }
        assert_equal "p0", handle(dead_letters(0), consumer: consumer.new(@producer)).letter.dispatch[:payload]
      end
      assert_equal 2, @errors.size
    end

    test "a letter that the changes address to the record's own topic is reported, and sent where it belongs" do
      consumer = Class.new(Consumer) do
        define_method(:enhance_dlq_message) { |letter, record| letter[:topic] = record.topic.to_sym }
      end
      letter = handle(dead_letters(0), consumer: consumer.new(@producer)).letter

      assert_equal ["dead", "p0"], letter.dispatch.values_at(:topic, :payload)
      assert_match(/\Aenhance_dlq_message has set the topic of a letter to orders, from .* Set another topic, or none\z/,
        @errors.map { |payload| payload[:error].message }.join)
    end

    test "a record whose dead letter can't be sent is tried again" do
      @producer.refuses = ->(_message) { true }
      assert_nil handle(dead_letters(0)).letter
      assert_instance_of MessageInvalidError, @errors.first[:error]
    end

    test "a dead letter with too large a payload is sent without it, where the route allows that" do
      @producer.limit = 1
      letter = handle(dead_letters(0, oversized: "reference")).letter
      assert_equal ["", "payload", "2", MessageTooLargeError, true], [letter.dispatch[:payload], letter.omitted,
        letter.dispatch[:headers]["penstock_payload_bytes"], letter.refusal.class, letter.reference]
      assert_empty @errors
      assert_nil handle(dead_letters(0)).letter
      assert_equal [MessageTooLargeError], @errors.map { |payload| payload[:error].class }
    end

    test "a record too large for its retry topic is dead-lettered; one that may be too large for a broker has its letter ready" do
      tiers = Routing::RetryTopics.new(nil, [500], "dead", 0, "reference")
      letter = handle({retry_topics: tiers}).letter
      assert_equal ["orders.retry.1", "dead", "p0", nil],
        [letter.topic, *letter.instead.values_at(:topic, :payload), letter.refusal]
      @producer.limit = 1
      letter = handle({retry_topics: tiers}).letter
      assert_equal ["dead", :dead_letter, "", nil], [letter.topic, letter.kind, letter.dispatch[:payload], letter.instead]
      @producer.refuses = ->(message) { message[:topic] == "dead" }
      assert_nil handle({retry_topics: tiers}).letter, "no record goes to a retry topic without its payload"
    end

    test "with a closed producer no dead letter is built, and the reported error names the producer and what to do" do
      closed = Producer.new.tap { |one| one.define_singleton_method(:closed?) { true } }
      closed.define_singleton_method(:id) { "mine" }
      assert_nil handle(dead_letters(0), consumer: Consumer.new(closed)).letter
      error = @errors.first[:error]
      assert_equal [ProducerClosedError, true, true],
        [error.class, error.message.start_with?("the producer mine, which sends dead letters of orders"),
          error.message.include?("self.producer = …")]
    end

    test "[producer override] the consumer's own producer sends its dead letters" do
      own = Producer.new
      assert_same own, handle(dead_letters(0), consumer: Consumer.new(own)).letter.producer
    end

    test "a block of backoff_for is called on the worker" do
      entry = Routing::BackoffFor.new([KeyError], 1, 2, false, ->(_error, attempt) { attempt * 100 })
      assert_equal 200, handle({backoff_for: [entry]}, error: KeyError.new, attempt: 2).backoff_ms
      assert_nil handle({backoff_for: [entry]}).backoff_ms
    end

    test "a record goes into its next retry topic with the time it is due" do
      tiers = Routing::RetryTopics.new(nil, [500], "dead", 0)
      dispatch = handle({retry_topics: tiers}).letter.dispatch
      assert_equal ["orders.retry.1", "9500", "1"],
        [dispatch[:topic], *dispatch[:headers].values_at("penstock_due_at", "penstock_attempt")]
    end

    test "a quarantined record's dead letter is built from its bytes, without the consumer" do
      lane = filled(1, dead_letters(3))
      error, results = failure_handler.quarantine(lane.next_unit, 3)

      assert_equal [3, "quarantined", "p0"],
        [error.crashes, results.letter.dispatch[:headers]["penstock_reason"], results.letter.dispatch[:payload]]
      assert_nil failure_handler.quarantine(filled(1, {}).next_unit, 3).last.letter
    end
  end
end
