# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/messages/message"
require "penstock/processing/failure/message"
require "penstock/processing/failure/oversized"

module Penstock
  # Headers of dead letters, retries and replays as released versions wrote them. They stay in topics for years, and tools read
  # them. Files are added, never changed.
  class DeadLetterFormatTest < TestCase
    FOLDER = __dir__
    Failure = Processing::Failure

    Dir[File.join(FOLDER, "dead-letter-v*.json")].each do |file|
      JSON.parse(File.read(file, encoding: "UTF-8"), symbolize_names: true).each do |entry|
        test "#{File.basename(file)}: #{entry[:name]}" do
          record = record_of(entry[:record])
          sent = sent(entry[:kind], record, entry[:facts])

          assert_equal entry[:sent][:headers].transform_keys(&:to_s), sent[:headers]
          assert_equal entry[:sent].except(:headers), sent.except(:headers)
        end

        next unless entry[:read]

        test "#{File.basename(file)} is read: #{entry[:name]}" do
          source = Failure::Provenance.read(entry[:sent][:headers].transform_keys(&:to_s))

          assert_equal entry[:read], source.to_h.compact
        end
      end
    end

    test "headers damaged by other code are read as far as possible" do
      assert_nil Failure::Provenance.read({})
      source = Failure::Provenance.read("source_topic" => ["a", "b"], "source_partition" => "x", "source_offset" => nil)
      assert_equal ["b", nil, nil], [source.topic, source.partition, source.offset]
      [{"penstock_due_at" => "soon"}, {}, nil].each do |headers|
        assert_nil Failure::Provenance.due_at(Struct.new(:raw_headers).new(headers))
      end
      assert_nil Failure::Provenance.read(nil)
    end

    test "texts from elsewhere are limited in size, valid, and cut between characters" do
      text = Failure::Provenance.bounded("ä\xFF" * 400, 500)

      assert_operator text.bytesize, :<=, 500
      assert_predicate text, :valid_encoding?
      assert text.end_with?("…")
    end

    private

    # A letter that was refused for its size this many times.
    def reduced(record, times:)
      letter = Failure::Message.dead_letter(record, topic: "orders.dead", group: "shop", error: ArgumentError.new("no total"),
        attempt: 4, trace_id: "t", now_ms: 1_700_000_009_999)
      times.times.reduce(letter) { |one, _time| Failure::Oversized.reduced(one, record) }
    end

    def record_of(facts)
      headers = (facts[:headers] || {}).transform_keys(&:to_s)
      row = Messages::MemoryBatch::Row.new(offset: facts[:offset], payload: facts[:payload], key: facts[:key],
        headers: headers, timestamp: facts[:timestamp])
      Penstock::Message.new(Messages::MemoryBatch.new(facts[:topic], facts[:partition], [row]), 0)
    end

    def sent(kind, record, facts)
      return Failure::Message.replay(record, **facts) if kind == "replay"
      return reduced(record, **facts) if kind == "reduced"

      error = Object.const_get(facts[:error_class]).new(facts[:error_message])
      error.set_backtrace([facts[:error_place]]) if facts[:error_place]
      Failure::Message.public_send(kind, record, error: error, **facts.except(:error_class, :error_message, :error_place))
    end
  end
end
