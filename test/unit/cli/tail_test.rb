# frozen_string_literal: true

require "test_helper"
require "stringio"
require "penstock/cli/tail"

class TailTest < Penstock::TestCase
  Message = Struct.new(:topic, :partition, :offset, :timestamp, :raw_key, :headers, :raw_payload, keyword_init: true)

  test "a line has the place, the key and the payload" do
    assert_equal "3@42 k: {\"a\":1}\n", printed(record(raw_key: "k", raw_payload: "{\"a\":1}"))
  end

  test "a message without key or payload says so" do
    assert_equal "3@42 (no payload)\n", printed(record)
  end

  test "no payload can drive the terminal: control characters and broken bytes are escaped" do
    text = printed(record(raw_payload: "a\e[2Jb\nc\xFF".b))

    refute_match(/[[:cntrl:]]/, text.chomp)
    assert_includes text, "\\e[2J"
    assert_predicate text, :valid_encoding?
  end

  test "text in other scripts stays readable" do
    assert_equal "3@42 größe 日本\n", printed(record(raw_payload: "größe 日本".b))
  end

  test "as JSON every part is there" do
    out = StringIO.new
    tail(out, json: true).print([record(raw_key: "k", raw_payload: "p", headers: {"h" => "1"})])

    assert_equal ["orders", 3, 42, "k", {"h" => "1"}, "p"],
      JSON.parse(out.string).values_at("topic", "partition", "offset", "key", "headers", "payload")
  end

  test "after the number asked for nothing more is printed" do
    out = StringIO.new
    tail(out, limit: 2).print(Array.new(3) { |index| record(offset: index, raw_payload: "p") })

    assert_equal ["3@0 p", "3@1 p"], out.string.lines(chomp: true)
  end

  private

  def printed(row)
    out = StringIO.new
    tail(out).print([row])
    out.string
  end

  def tail(out, **options)
    Penstock::CLI::Tail.new(topic: "orders", kafka: {"bootstrap.servers": "127.0.0.1:1"}, out: out, from: "latest", **options)
  end

  def record(**parts)
    Message.new(topic: "orders", partition: 3, offset: 42, timestamp: Time.at(0), headers: {}, **parts)
  end
end
