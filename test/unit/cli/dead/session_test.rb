# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/dead/letter"
require "penstock/cli/dead/session"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"

module Penstock
  # Replaying dead letters, each with its own result.
  class DeadSessionTest < TestCase
    Report = Struct.new(:topic, :error, :unknown?)
    # A delivery with a given result: an error, or nil.
    Handle = Struct.new(:report) do
      def wait(**) = report.is_a?(Exception) ? raise(report) : report
    end
    # Accepts messages and gives each the result that the test sets.
    Producer = Struct.new(:answers, :messages) do
      def config = Struct.new(:max_wait_timeout).new(60_000)
      def close = nil

      def produce_async(message)
        messages << message
        answer = answers.shift
        raise answer if answer.is_a?(MessageInvalidError)
        Handle.new(answer.is_a?(WaitTimeoutError) ? answer : Report.new(message[:topic], answer, answer&.code == :msg_timed_out))
      end
    end

    def session(*answers)
      @dropped = dropped = []
      CLI::Dead::Session.new(nil, "orders.dead", {}).tap do |session|
        @producer = producer = Producer.new(answers, [])
        session.define_singleton_method(:producer) { producer }
        session.define_singleton_method(:note) { |letters| dropped.concat(letters) }
        session.define_singleton_method(:drop) { |letters| dropped.concat(letters) }
      end
    end

    def letters(count, headers = {"source_topic" => "orders"})
      rows = Array.new(count) { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", headers: headers, timestamp: 1) }
      batch = Messages::MemoryBatch.new("orders.dead", 0, rows)
      Array.new(count) { |index| CLI::Dead::Letter.new(Message.new(batch, index)) }
    end

    def error(code) = KafkaError.build(number: -1, name: code.to_s, message: "no")

    test "each letter has its own result: delivered ones are removed from the list, the others are reported" do
      letters = letters(4)
      found = session(nil, MessageInvalidError.new("bad header"), error(:topic_authorization_failed), nil).replay(letters, nil)

      assert_equal [[0, 3], [0, 3]], [found.sent, @dropped].map { |list| list.map(&:offset) }
      assert_equal({1 => "bad header", 2 => "orders: no (topic_authorization_failed)"}, found.refused.transform_keys(&:offset))
      assert_nil found.stopped
    end

    test "if the cluster is unreachable, no more letters are tried after a slice without a delivery" do
      letters = letters(CLI::Dead::Session::SLICE + 10)
      answers = Array.new(CLI::Dead::Session::SLICE) { error(:msg_timed_out) }
      found = session(*answers).replay(letters, nil)

      assert_equal :msg_timed_out, found.stopped.code
      assert_equal [0, CLI::Dead::Session::SLICE, CLI::Dead::Session::SLICE],
        [found.sent.size, found.refused.size, @producer.messages.size]
      assert_equal "orders: no (msg_timed_out), but may have been sent anyway", found.refused.values.last
    end

    test "timeouts don't stop a replay while other letters are delivered" do
      letters = letters(CLI::Dead::Session::SLICE + 1)
      late = Array.new(CLI::Dead::Session::SLICE - 1) { WaitTimeoutError.new("no report") }
      found = session(nil, *late, nil).replay(letters, nil)

      assert_nil found.stopped
      assert_equal [0, CLI::Dead::Session::SLICE], found.sent.map(&:offset)
    end

    test "a letter without a source, or whose source isn't a valid topic name, can only be sent to a given topic" do
      sources = [nil, "", "a b", "\xFF".b, "orders"]
      objections = sources.map { |name| session.objection(letters(1, {"source_topic" => name}.compact).first, nil) }

      assert_match(/doesn't name its source.*--to/, objections[0])
      objections[1..3].each { |text| assert_match(/is not a valid topic name.*--to/, text) }
      assert_nil objections[4]
      assert_nil session.objection(letters(1, {}).first, "elsewhere")
    end

    test "property: a letter with any header bytes can be listed, filtered and shown as JSON" do
      random = Random.new(3)
      names = Processing::Failure::Provenance::NAMES
      300.times do
        encoding = [Encoding::UTF_8, Encoding::BINARY].sample(random: random)
        headers = names.sample(8, random: random).to_h { |name| [name, random.bytes(random.rand(12)).force_encoding(encoding)] }
        headers["penstock_failed_at"] = ["9" * 400, "-5", "1", ","].sample(random: random)
        letter = letters(1, headers).first
        [{topic: "größe"}, {error: "Fehlerä"}, {key: "ä", since: "2h"}].each do |options|
          assert_includes [true, false], CLI::Dead::Filter.new(options, 1_000_000_000).fits?(letter)
        end
        assert_equal letter.offset, JSON.parse(Printable.json(letter.to_h))["offset"]
        assert_kind_of String, letter.time
      end
    end
  end
end
