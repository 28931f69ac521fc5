# frozen_string_literal: true

require "test_helper"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/serialization/deserializers"

module Penstock
  class MessagesTest < TestCase
    Deserializers = Struct.new(:payload, :key, :headers, :text_parser)

    def build(*rows, payload: ->(message) { message.raw_payload }, key: ->(message) { message.raw_key },
      headers: ->(message) { message.raw_headers })
      rows = rows.each_with_index.map { |row, index| Messages::MemoryBatch::Row.new(offset: 10 + index, **row) }
      batch = Messages::MemoryBatch.new("orders", 3, rows)
      batch.context = Messages::Context.new(Deserializers.new(payload, key, headers), 1_700_000_000_000)
      Messages.new(batch, scheduled_ms: 1_700_000_001_000)
    end

    def two = build({payload: "a", timestamp: 1_699_999_999_000}, {payload: "b", timestamp: 1_700_000_000_000})

    test "[payload lazy] nothing is parsed until payload is called, then once; an error isn't cached" do
      calls = 0
      message = build({payload: "x"}, payload: ->(one) {
        calls += 1
        raise ArgumentError, "first time" if calls == 1
        one.raw_payload * 2
      }).first
      refute message.deserialized?
      assert_raises(ArgumentError) { message.payload }
      assert_equal ["xx", "xx", 2], [message.payload, message.payload, calls]
      assert message.deserialized?
    end

    def parsed(payload, deserializers = Serialization::Deserializers::DEFAULT)
      messages = build({payload: payload})
      messages.batch.context = Messages::Context.new(deserializers)
      messages.first
    end

    test "[payload lazy] JSON is parsed from text, once; a record that isn't JSON is named by every call" do
      message = parsed('["žluť"]'.b.freeze)

      refute_predicate message, :deserialized?
      assert_equal ["žluť"], message.payload
      assert_same message.payload, message.payload
      assert_equal [nil, nil], [parsed(nil).payload, parsed("null").payload]

      broken = parsed("{")
      2.times do
        error = assert_raises(DeserializationError) { broken.payload }
        assert_match(%r{\Aorders/3 at offset 10: the payload can't be deserialized}, error.message)
      end
      refute_predicate broken, :deserialized?
    end

    test "a deserializer derived from JSON is called with the message" do
      derived = Class.new(Serialization::JSON) { def call(message) = [message.offset, super] }.new
      ours = Class.new(Serialization::JSON).new

      assert_equal [[10, 1], 1], [derived, ours].map { |one| parsed("1", Serialization::Deserializers.new(payload: one)).payload }
    end

    test "a payload that deserializes to nil is deserialized once" do
      calls = 0
      message = build({payload: "x"}, payload: ->(_) {
        calls += 1
        nil
      }).first
      assert_equal [nil, nil, 1], [message.payload, message.payload, calls]
    end

    test "[key/headers nil cached] the deserializers of key and headers are called once, also when they return nil" do
      calls = []
      messages = build({payload: "x", key: "k"}, key: ->(_) { calls << :key and nil }, headers: ->(_) {
        calls << :headers and false
      })
      message = messages.first
      2.times { assert_equal [nil, false], [message.key, message.headers] }
      assert_equal %i[key headers], calls
    end

    test "[tombstone] a record with a key and no payload is a tombstone, a record with neither is not" do
      tombstone, empty = build({payload: nil, key: "k"}, {payload: nil}).to_a
      assert tombstone.tombstone?
      refute empty.tombstone?
      assert_nil tombstone.payload
    end

    test "[to_a copy] changing the Array doesn't change the messages" do
      messages = two
      messages.to_a.shift
      assert_equal [10, 11], messages.map(&:offset)
    end

    test "[lag metrics] lags are at least 0, and -1 before the batch is processed" do
      messages = two
      assert_equal [-1, -1], [messages.metadata.consumption_lag, messages.metadata.processing_lag]
      messages.processing!(1_700_000_003_000)
      assert_equal [3_000, 2_000], [messages.metadata.consumption_lag, messages.metadata.processing_lag]
      messages.processing!(1_600_000_000_000)
      assert_equal [0, 0], [messages.metadata.consumption_lag, messages.metadata.processing_lag]
    end

    test "metadata of an empty batch raises nothing" do
      metadata = Messages.new(Messages::MemoryBatch.new("orders", 0, [])).metadata
      assert_equal [0, -1001, -1001], [metadata.size, metadata.first_offset, metadata.last_offset]
    end

    test "[KIP-82 headers] a name that occurs more than once has an Array" do
      message = build({payload: "x", headers: {"trace" => ["1", nil], "one" => "2"}.freeze}).first
      assert_equal({"trace" => ["1", nil], "one" => "2"}, message.headers)
    end

    test "[cleaner] payload after clean! raises an error that names the message" do
      message = two.first
      message.payload
      message.clean!
      assert message.cleaned?
      error = assert_raises(MessageClearedError) { message.payload }
      assert_includes error.message, "orders/3/10"
      assert_raises(MessageClearedError) { message.raw_payload }
    end

    test "[each(clean: true)] each message is cleaned after the block has seen it" do
      seen = []
      two.each(clean: true) { |message| seen << message.tap(&:payload) }
      assert_equal [true, true], seen.map(&:cleaned?)
    end

    test "an error is blamed on the record at the cursor; without an iteration, on the last" do
      messages = two
      assert_equal 11, messages.blamed_offset
      assert_raises(RuntimeError) { messages.each { raise "no" } }
      assert_equal 10, messages.blamed_offset
      refute messages.finished?
    end

    # Fails as a call of `consume` does.
    # @return [Array(Integer, Integer)] offset of the record that is known to have failed, or nil; offset that is blamed
    def located(messages = two)
      yield messages
      flunk "it hasn't failed"
    rescue RuntimeError, KeyError => error
      messages.blame(error)
      [messages.cursor && messages.blamed_offset, messages.blamed_offset]
    end

    test "the record that an error is blamed on stays if the messages are iterated again" do
      messages = two
      assert_equal [10, 10], located(messages) { messages.each { raise "no" } }
      error = messages.instance_variable_get(:@failure)
      messages.each(&:offset)
      messages.blame(error)

      assert_equal 10, messages.blamed_offset
    end

    test "an error that has left an iteration is blamed on its record, also if another error was raised because of it" do
      assert_equal [10, 10], located { |messages| messages.each { raise "no" } }
      assert_equal [11, 11], located { |messages| messages.map { |one| (one.offset == 11) ? raise("no") : one } }
      assert_equal [10, 10], located { |messages|
        begin
          messages.each { raise "no" }
        rescue
          raise KeyError, "another"
        end
      }
      assert_equal [11, 11], located { |messages| messages.each { messages.each { |one| raise "no" if one.offset == 11 } } }
    end

    test "an error after an iteration is blamed on no record" do
      write = -> { raise "a bulk write failed" }
      assert_equal [nil, 11], located { |messages| messages.map(&:payload) && write.call }
      assert_equal [nil, 11], located { |messages| messages.payloads && write.call }
      assert_equal [nil, 11], located { |messages| messages.find { true } && write.call }
      assert_equal [nil, 11], located { |messages| messages.each_slice(1) { write.call } }
      assert_equal [nil, 11], located { |messages| messages.each_cons(2) { write.call } }
      assert_equal [nil, 11], located { |messages| messages.chunk_while { true }.each { write.call } }
      assert_equal [nil, 11], located { |messages|
        first = nil
        messages.each do
          raise "the first one"
        rescue => error
          first ||= error
        end
        raise first
      }
      assert_equal [nil, 11], located { |messages|
        begin
          messages.each { raise "handled" }
        rescue
          nil
        end
        write.call
      }
    end

    test "an error class with a cause of its own that raises is blamed on no record" do
      odd = Class.new(RuntimeError) { def cause = raise("no") }
      assert_equal [nil, 11], located { |messages| messages.map(&:payload) && raise(odd, "x") }
    end

    test "slices have the records that each has" do
      messages = two
      slices = []
      assert_same messages, messages.each_slice(1) { |slice| slices << slice.map(&:offset) }
      assert_equal [[10], [11]], slices
      assert_equal [[10, 11]], messages.each_cons(2).map { |pair| pair.map(&:offset) }
    end

    test "each yields the views that random access created" do
      messages = two
      first = messages.first
      assert_same first, messages.each.first
      assert_same first, messages[0]
    end

    test "from_offset returns the records at or after an offset" do
      assert_equal [[10, 11], [11], []], [9, 11, 12].map { |offset| two.from_offset(offset).map(&:offset) }
    end

    test "inspect of a message contains its uid and never its payload" do
      assert_equal "#<Penstock::Message orders/3/10>", two.first.inspect
      assert_equal "orders/3/10", two.first.uid
    end

    test "payloads, raw payloads and raw iteration agree" do
      messages = two
      raw = []
      messages.each_raw { |payload| raw << payload }
      assert_equal [%w[a b]] * 3, [messages.payloads, messages.raw_payloads, raw]
    end

    test "an error is blamed on the current record, also after a nested iteration over all" do
      messages = two
      assert_raises(RuntimeError) do
        messages.each do |message|
          messages.sum(&:bytesize)
          messages.find { |other| other.offset == 11 }
          raise "bad" if message.offset == 10
        end
      end
      assert_equal 10, messages.blamed_offset
      messages.processing!(0)
      messages.each { messages.map(&:offset) }
      assert messages.finished?
    end

    test "an error inside a nested iteration is blamed on the record that caused it" do
      messages = two
      assert_raises(RuntimeError) { messages.each { messages.each { |inner| raise "bad" if inner.offset == 11 } } }

      assert_equal 11, messages.blamed_offset
    end

    test "what is around messages is called once per message of an iteration, not inside another one and not for payloads" do
      messages, calls = two, []
      messages.around = ->(message, &block) { calls << message.offset && block.call }
      seen = []
      messages.each { |message| messages.each { |inner| seen << [message.offset, inner.offset] } }
      payloads = messages.payloads

      assert_equal [[10, 10], [10, 11], [11, 10], [11, 11]], seen
      assert_equal [[10, 11], %w[a b]], [calls, payloads]
      assert_predicate messages, :finished?
      assert_equal 11, messages.blamed_offset
      messages.processing!(0)
      assert_nil messages.around
    end

    test "[traces] without anything around messages an iteration allocates its messages, and nothing else" do
      messages = two
      counts = Array.new(5) do
        before = GC.stat(:total_allocated_objects)
        100.times { messages.each { |message| message } }
        GC.stat(:total_allocated_objects) - before
      end

      assert_equal 100 * messages.size, counts.min
    end

    test "headers at a position are those that Kafka stores, also in a selection" do
      messages = build({payload: "a", headers: {"k" => "1"}}, {payload: "b"}, {payload: "c", headers: {"k" => "3"}})

      assert_equal [{"k" => "1"}, {"k" => "3"}], [messages.headers_at(0), messages.pick([0, 2]).headers_at(1)]
    end
  end
end
