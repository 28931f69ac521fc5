# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/printable"

module Penstock
  class PrintableTest < TestCase
    # Text that must never reach a terminal or a line of a log: cursor control, line breaks, direction of writing, invisible
    # text.
    FORBIDDEN = /[\p{Cc}\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0001}]/
    HOSTILE = ["\e[2J", "\e]0;title\a", "\u009B2J", "\x9B2J".b, "\u202Eevil\u202C", "\u2066x\u2069", "\r\nE, [] FATAL -- : x",
      "\0", "\u2028", "\xFF\xFE".b, "\xC3".b, "\xED\xA0\x80".b, "\u{E0041}", "\uFEFF", "\x7F", "\t", "é", "日本", "🇩🇪"].freeze

    test "a line shows control characters as escapes, and other text as it is" do
      assert_equal 'a\e[2Jb\nc\rd\te\x07\x7F', Printable.line("a\e[2Jb\nc\rd\te\a\x7F")
      assert_equal 'C1 \u009B, bidi \u202E, tag \u{E0041}', Printable.line("C1 \u009B, bidi \u202E, tag \u{E0041}")
      assert_equal "größe 日本 👨‍👩‍👧 می‌خواهم", Printable.line("größe 日本 👨‍👩‍👧 می‌خواهم")
    end

    test "bytes that aren't UTF-8 are shown one by one, in every declared encoding" do
      assert_equal 'x\xFF\xC3 é', Printable.line("x\xFF\xC3 é")
      assert_equal 'x\xFFé', Printable.line("x\xFFé".b)
      assert_equal 'x\xFF', Printable.line((+"x\xFF").force_encoding(Encoding::US_ASCII))
      assert_equal "é", Printable.line("é".encode(Encoding::UTF_16LE))
    end

    test "a long text is cut, and its length is shown" do
      cut = Printable.line("é" * 10_000_000)

      assert_equal Printable::LINE_BYTES, cut.bytesize, "a character may not be cut in half"
      assert_match(/\Aé+… \(20000000 bytes\)\z/, cut)
      assert_equal "x" * 100_000, Printable.line("x" * 100_000, nil)
    end

    test "lines keep line breaks; in an entry of a log later lines are indented, so that none passes for another entry" do
      assert_equal "a\nb\\e", Printable.lines("a\nb\e")
      assert_equal "a\n  E, [] FATAL\n  b\n", Printable.entry("a\nE, [] FATAL\n  b\n")
    end

    test "an error is its class and its message, in one line" do
      assert_equal 'ArgumentError: no\ntotal', Printable.error(ArgumentError.new("no\ntotal"))
      assert_equal ["text", "", ""], [Printable.error("text"), Printable.error(nil), Printable.message(nil)]
    end

    test "a value that raises in to_s still makes a line" do
      broken = RuntimeError.new("x")
      broken.define_singleton_method(:message) { raise NoMethodError, "no message" }
      deep = Class.new { def to_s = to_s }.new

      assert_equal "RuntimeError: (its text can't be read: it raised NoMethodError)", Printable.error(broken)
      assert_match(/it raised SystemStackError/, Printable.line(deep))
      assert_match(/it raised NoMethodError/, Printable.line(BasicObject.new))
      assert_equal "", Printable.line(nil)
    end

    test "JSON is valid for any value, and has no character that controls a terminal" do
      value = {"k\xFF" => ["\e\u202E\u{E0001}", "\xFE".b, 0.0 / 0, Time.at(0).utc, :s, nil, true, 1.5], 1 => {}}
      text = Printable.json(value)

      refute_match FORBIDDEN, text
      assert_equal({'k\xFF' => ["\e\u202E\u{E0001}", '\xFE', nil, "1970-01-01 00:00:00 UTC", "s", nil, true, 1.5], "1" => {}},
        JSON.parse(text))
      assert_equal JSON.parse(text), JSON.parse(Printable.json(value, pretty: true))
    end

    test "property: of any bytes a line is valid, bounded, harmless, and the same when it is made again" do
      each_text do |text|
        [40, 100, Printable::LINE_BYTES].each do |limit|
          line = Printable.line(text, limit)

          assert line.valid_encoding? && line.encoding == Encoding::UTF_8, text.inspect
          assert_operator line.bytesize, :<=, limit, text.inspect
          refute_match FORBIDDEN, line, text.inspect
          assert_equal line, Printable.line(line, limit), text.inspect
        end
      end
    end

    test "property: lines differ from a line in their line breaks alone, and an entry is the same when it is made again" do
      each_text do |text|
        lines = Printable.lines(text)

        assert_equal Printable.line(text, nil), lines.gsub("\n", '\n'), text.inspect
        assert_equal Printable.entry(text), Printable.entry(Printable.entry(text)), text.inspect
        refute_match(/\n(?!  )./, Printable.entry(text), text.inspect)
      end
    end

    test "property: JSON of any text is read back as that text with its invalid bytes shown" do
      each_text do |text|
        json = Printable.json({"a" => text})

        refute_match FORBIDDEN, json, text.inspect
        assert_equal Printable.utf8(text), JSON.parse(json)["a"], text.inspect
      end
    end

    private

    # Pieces that are known to cause trouble, put together at random with random bytes, in every encoding.
    def each_text
      random = Random.new(Integer(ENV.fetch("PENSTOCK_FUZZ_SEED", "42")))
      Integer(ENV.fetch("PENSTOCK_FUZZ_TEXTS", "400")).times do
        bytes = Array.new(random.rand(1..12)) { (random.rand(3).zero? ? random.bytes(7) : HOSTILE.sample(random: random)).b }.join
        [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].each { |encoding| yield bytes.dup.force_encoding(encoding) }
      end
    end
  end
end
