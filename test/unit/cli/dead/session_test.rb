# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/dead/letter"
require "penstock/cli/dead/session"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"
require "support/fake_reading"

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

    # Records handled letters. `room`: how many of them have room in a commit; `errors`: the results of the next stores, nil for
    # success.
    Handled = Struct.new(:room, :errors, :added, :written, :passes) do
      def include?(record) = record.offset == 2
      def passed(record, kept) = passes << [record.offset, kept]
      def try_commit(_admin, _letters) = errors.shift.then { |error| raise error if error }
      def recordable(_admin, letters) = letters.first([room - added.size, 0].max)
      def too_scattered(partition) = "no room for partition #{partition}"
      def add(letter) = added << letter
      def added? = true
      def unwritten = {0 => (added - written).map(&:offset)}

      def store(_admin)
        error = errors.shift
        raise error if error
        written.replace(added)
      end
      alias_method :save, :store
    end
    # A cluster whose admin connection isn't needed.
    Target = Struct.new(:log) do
      def admin = yield(nil)
      def reader(_timeout_ms) = TestSupport::FakeReading.new({["orders.dead", 0] => log})
    end

    def session(*answers, room: 100_000, errors: [], options: {}, log: nil)
      handled = Handled.new(room, errors, [], [], @passes = [])
      @dropped = handled.written
      CLI::Dead::Session.new(Target.new(log), "orders.dead", options).tap do |session|
        @producer = producer = Producer.new(answers, [])
        session.define_singleton_method(:producer) { producer }
        session.instance_variable_set(:@handled, handled)
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

    test "all records that are read are passed to the list of handled letters, with whether they matter to it" do
      one = session(options: {offset: 4}, log: TestSupport::FakeReading::Log.new([0, 2, 4, 6], 0, 8))
      one.define_singleton_method(:look_up) { |_admin| @bounds = {0 => [0, 8]} }
      assert_equal [4], one.enum_for(:each).map(&:offset)
      assert_equal [[0, false], [2, true], [4, true], [6, false]], @passes
    end

    test "messages get the time of the replay, or keep their own if that is wanted" do
      times = ->(message) { [message[:timestamp], message[:headers]["penstock_original_timestamp"]] }
      session.replay(letters(1), nil)
      assert_equal [nil, "1"], times.call(@producer.messages.first)
      session(options: {keep_timestamp: true}).replay(letters(1), nil)
      assert_equal [1, nil], times.call(@producer.messages.first)
    end

    test "letters that can't be recorded as handled are not sent, and are reported" do
      letters = letters(4)
      found = session(room: 2).replay(letters, nil)

      assert_equal [[0, 1], [0, 1], 2], [found.sent.map(&:offset), @dropped.map(&:offset), @producer.messages.size]
      assert_equal({2 => "no room for partition 0", 3 => "no room for partition 0"}, found.refused.transform_keys(&:offset))
      assert_nil found.stopped
    end

    test "nothing is sent if nothing can be recorded" do
      one = session(errors: [error(:group_authorization_failed)])
      assert_equal :group_authorization_failed, assert_raises(KafkaError) { one.replay(letters(4), nil) }.code
      assert_empty @producer.messages
    end

    test "a replay that can't record what it has sent stops, and reports what isn't recorded" do
      letters = letters(CLI::Dead::Session::SLICE * 3)
      lost = error(:group_authorization_failed)
      found = session(errors: [nil, nil, lost, lost]).replay(letters, nil)

      assert_equal [CLI::Dead::Session::SLICE * 2, lost], [found.sent.size, found.stopped]
      refute_predicate found, :away?
      assert_equal({0 => (CLI::Dead::Session::SLICE...(CLI::Dead::Session::SLICE * 2)).to_a}, found.unrecorded)
      found = session(errors: [nil, nil, lost, nil]).replay(letters, nil)
      assert_equal [lost, {}], [found.stopped, found.unrecorded], "the last try has recorded them"
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
