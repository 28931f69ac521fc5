# frozen_string_literal: true

require "test_helper"
require "penstock/serialization/deserializers"

class DeserializersTest < Penstock::TestCase
  Record = Struct.new(:raw_payload, :raw_key, :raw_headers) do
    def topic = "orders"
    def partition = 3
    def offset = 42
  end

  def setup
    @record = Record.new('{"a":1}'.b.freeze, "k".b, {"h" => %w[1 2]})
    @default = Penstock::Serialization::Deserializers::DEFAULT
  end

  test "by default the payload is JSON, key and headers are unchanged" do
    assert_equal({"a" => 1}, @default.payload.call(@record))
    assert_equal "k", @default.key.call(@record)
    assert_equal({"h" => %w[1 2]}, @default.headers.call(@record))
    assert_predicate @default, :frozen?
  end

  test "strings of parsed JSON are UTF-8 although the payload is binary" do
    value = @default.payload.call(Record.new('["žluťoučký"]'.b))

    assert_equal ["žluťoučký"], value
    assert_equal Encoding::UTF_8, value.first.encoding
  end

  test "[tombstone] a payload that is nil stays nil" do
    assert_nil @default.payload.call(Record.new(nil, "k"))
  end

  test "a deserializer equals the one that was given to the route" do
    given = ->(_message) {}
    guarded = Penstock::Serialization::Deserializers.new(payload: given).payload

    assert_equal guarded, given
    assert_equal guarded, Penstock::Serialization::Deserializers.new(payload: given).payload
    refute_equal guarded, proc {}
  end

  test "scalars are JSON too" do
    assert_equal 1, @default.payload.call(Record.new("1"))
    assert_nil @default.payload.call(Record.new("null"))
  end

  test "a payload that isn't JSON is an error of its record, with the parser's as its cause" do
    ["{", "", "\xFF", "[" * 200].each do |bytes|
      error = assert_raises(Penstock::DeserializationError) { @default.payload.call(Record.new(bytes.b)) }

      assert_match %r{\Aorders/3 at offset 42: the payload can't be deserialized}, error.message
      assert_kind_of JSON::JSONError, error.cause
    end
  end

  test "an error of a user's deserializer is also an error of that record" do
    mine = Penstock::Serialization::Deserializers.new(key: ->(metadata) { Integer(metadata.raw_key) })
    error = assert_raises(Penstock::DeserializationError) { mine.key.call(@record) }

    assert_equal :key, error.part
    assert_equal 42, error.offset
    assert_kind_of ArgumentError, error.cause
  end

  test "a critical error is raised unchanged" do
    mine = Penstock::Serialization::Deserializers.new(payload: ->(_) { raise Penstock::CriticalError })

    assert_raises(Penstock::CriticalError) { mine.payload.call(@record) }
  end

  test "parts that aren't given have the framework's default" do
    mine = Penstock::Serialization::Deserializers.new(payload: Penstock::Serialization::Raw.new)

    assert_equal '{"a":1}', mine.payload.call(@record)
    assert_equal "k", mine.key.call(@record)
    assert_equal %i[payload key headers], mine.to_h.keys
  end

  test "bytes that a deserializer passes on are copies that user code may change; those of the message stay as they were" do
    raw = Record.new("a".b.freeze, "k".b.freeze, {"h" => "1", "twice" => ["2", nil].freeze, "no" => nil}.freeze)
    payload, key = Penstock::Serialization::Raw.new.call(raw) << "b", @default.key.call(raw) << "l"
    headers = @default.headers.call(raw)
    headers["h"] << "!"
    headers["twice"].first << "?"
    headers["more"] = "4"

    assert_equal ["ab", "kl", {"h" => "1!", "twice" => ["2?", nil], "no" => nil, "more" => "4"}], [payload, key, headers]
    assert_equal ["a", "k", {"h" => "1", "twice" => ["2", nil], "no" => nil}], raw.to_a
    assert_equal [Encoding::BINARY] * 2, [payload, key].map(&:encoding)
  end

  test "[tombstone] a record without payload and key has neither" do
    none = Record.new(nil, nil, {})

    assert_equal [nil, nil, {}],
      [Penstock::Serialization::Raw.new.call(none), @default.key.call(none), @default.headers.call(none)]
  end
end
