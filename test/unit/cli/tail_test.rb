# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require "penstock/cli/tail"
require "penstock/native"

class TailTest < Penstock::TestCase
  Message = Struct.new(:topic, :partition, :offset, :timestamp, :raw_key, :raw_headers, :raw_payload, keyword_init: true)

  test "a line has the partition, the offset, the key and the payload" do
    assert_equal "3@42 k: {\"a\":1}\n", printed(record(raw_key: "k", raw_payload: "{\"a\":1}"))
  end

  test "a message without key or payload is shown as such" do
    assert_equal "3@42 (no payload)\n", printed(record)
  end

  test "no payload can control the terminal: control characters and broken bytes are escaped" do
    text = printed(record(raw_payload: "a\e[2Jb\nc\xFF".b))

    refute_match(/[[:cntrl:]]/, text.chomp)
    assert_includes text, "\\e[2J"
    assert_predicate text, :valid_encoding?
  end

  test "text in other scripts stays readable" do
    assert_equal "3@42 größe 日本\n", printed(record(raw_payload: "größe 日本".b))
  end

  test "JSON contains every part" do
    out = StringIO.new
    tail(out, json: true).print([record(raw_key: "k", raw_payload: "p", raw_headers: {"h" => "1"})])

    assert_equal ["orders", 3, 42, "k", {"h" => "1"}, "p"],
      JSON.parse(out.string).values_at("topic", "partition", "offset", "key", "headers", "payload")
  end

  test "JSON loses no byte: text is unchanged, other bytes are base64 in a separate field" do
    text = "a\e[2J\u202E\n\t\0é"
    record = record(raw_key: "\xFF\x00".b, raw_payload: text.b,
      raw_headers: {"text" => text.b, "both" => ["a", nil, "\xFE".b], "none" => nil, "bin" => "\xFF\xFE".b, "\xFD".b => "x"})
    out = StringIO.new
    tail(out, json: true).print([record])
    found = JSON.parse(out.string)

    assert_equal 1, out.string.lines.size
    refute_match(/[[:cntrl:]&&[^\n]]|\u202E/, out.string)
    assert_equal [nil, "/wA=", text], found.values_at("key", "key_base64", "payload")
    assert_equal({"text" => text, "none" => nil}, found["headers"])
    assert_equal({"both" => ["YQ==", nil, "/g=="], "bin" => "//4=", '\xFD' => "eA=="}, found["headers_base64"])
    refute found.key?("payload_base64")
  end

  test "a message without headers, and one without a payload, are valid JSON" do
    out = StringIO.new
    tail(out, json: true).print([record(raw_headers: nil)])

    assert_equal [{}, nil, nil], JSON.parse(out.string).values_at("headers", "key", "payload")
  end

  # A connection on which errors are reported, and then the topic is gone.
  Silent = Struct.new(:errors, :signal) do
    def partitions(*)
      errors.empty? ? raise(Penstock::Native.error_for(3, "orders", "this topic doesn't exist")) : {"orders" => [0]}
    end

    def ends(keys) = keys.to_h { |key| [key, 0] }
    alias_method :beginnings, :ends
    def committed(_keys) = {}
    def at(_times) = {}
    def assign(parts) = parts.to_h { |part| [part, Struct.new(:id).new(1)] }
    def wait(_limit_ms) = signal ? raise(SignalException, signal) : []
    def timeout_ms = 0
    def last_error = errors.shift
  end

  test "an error of the connection is one line, however often it is repeated; the end of the topic is an error" do
    refused = Penstock::Native.error_for(-195, "here:1/bootstrap",
      "Connect to ipv4#10.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)")
    err = StringIO.new
    connection = Silent.new([refused] * 8)
    error = assert_raises(Penstock::KafkaError) { tail(StringIO.new, connection: connection, err: err).run }

    assert_equal :unknown_topic_or_part, error.code
    assert_equal 1, err.string.lines.size
    assert_match(/\Apenstock: no connection to here:1, TCP failed: .*Connection refused/, err.string)
  end

  test "INT and TERM end it with 0, other signals aren't its own" do
    %w[INT TERM].each { |name| assert_equal 0, tail(StringIO.new, connection: Silent.new([nil], name)).run }
    assert_raises(SignalException) { tail(StringIO.new, connection: Silent.new([nil], "HUP")).run }
  end

  test "property: any bytes give one harmless line, and JSON that is read back as these bytes" do
    random = Random.new(1)
    300.times do
      key, name, value, payload = Array.new(4) { random.bytes(random.rand(0..12)).b }
      record = record(raw_key: key, raw_payload: payload, raw_headers: {name => value})
      line = printed(record)
      out = StringIO.new
      tail(out, json: true).print([record])
      found = JSON.parse(out.string)

      assert_equal 1, line.lines.size
      refute_match(/[[:cntrl:]]/, line.chomp)
      assert_equal [key, payload], %w[key payload].map { |field| bytes(found, field) }
      assert_equal [value], found.values_at("headers", "headers_base64").compact.flat_map(&:values)
        .zip(found["headers"].any? ? [nil] : [:base64]).map { |text, coded| coded ? text.unpack1("m") : text.b }
    end
  end

  test "nothing is printed after the requested number" do
    out = StringIO.new
    tail(out, limit: 2).print(Array.new(3) { |index| record(offset: index, raw_payload: "p") })

    assert_equal ["3@0 p", "3@1 p"], out.string.lines(chomp: true)
  end

  private

  def bytes(found, field) = found[field]&.b || found["#{field}_base64"].unpack1("m")

  def printed(row)
    out = StringIO.new
    tail(out).print([row])
    out.string
  end

  def tail(out, **options)
    Penstock::CLI::Tail.new(topic: "orders", connection: nil, out: out, **options)
  end

  def record(**parts)
    Message.new(topic: "orders", partition: 3, offset: 42, timestamp: Time.at(0), raw_headers: {}, **parts)
  end
end
