# frozen_string_literal: true

require "test_helper"
require "json"
require "stringio"
require "penstock/cli"
require "penstock/cli/command"
require "penstock/cli/record_fields"
require "penstock/cli/replay/words"
require "penstock/cli/table"

module Penstock
  # Output of commands that contains names and texts from outside.
  class PrintingTest < TestCase
    HOSTILE = "a\e[2J\u009B\u202E\nforged\0\xFF"
    SAFE = 'a\e[2J\u009B\u202E\nforged\x00\xFF'
    FORBIDDEN = /[[:cntrl:]&&[^\n]]|\u202E/

    # A command that prints what it is given.
    class Echo < CLI::Command
      def call(words) = say(*words)
      def json(value) = say_json(value)
      def complain(text) = warn_user(text)
      def ask(question) = confirmed?(question)
    end

    def setup
      super
      @out, @err = StringIO.new, StringIO.new
      @context = CLI::Context.new(stdin: StringIO.new("yes\n"), stdout: @out, stderr: @err, env: {}, dir: ".")
      @echo = Echo.new(@context)
    end

    test "lines, warnings, questions and JSON contain no terminal control sequences" do
      @echo.call([HOSTILE])
      @echo.complain(HOSTILE)
      assert @echo.ask(HOSTILE)
      @echo.json({HOSTILE => [HOSTILE.b]})

      [@out.string, @err.string].each do |text|
        refute_match FORBIDDEN, text
        assert_predicate text, :valid_encoding?
      end
      assert_includes @out.string, "a\\e[2J\\u009B\\u202E\nforged\\x00\\xFF\n"
      assert_includes @out.string, "#{SAFE} Type yes: "
    end

    test "a table's row is one line for any cell content, and a cell is bounded" do
      text = CLI::Table.new(%w[topic count], [[HOSTILE, 1], ["x" * 1_000_000, nil]]).to_s

      assert_equal 3, text.lines.size
      assert_operator text.bytesize, :<, 3_000
      assert_includes text, SAFE
    end

    test "an error of any class is printed without terminal control sequences, with or without its backtrace" do
      broken = Class.new(StandardError) { def message = raise("no message") }
      [CLI::Usage.new(HOSTILE), RuntimeError.new(HOSTILE), RuntimeError.new("x" * 20_000_000), broken.new].each do |error|
        assert_equal 1, CLI::Failure.new(error, @context).report
      end

      refute_match FORBIDDEN, @err.string
      assert_operator @err.string.bytesize, :<, 200_000
      assert_match(/its text can't be read|no message/, @err.string)
    end

    test "entries of a dump are one line each" do
      entry = Struct.new(:kind, :values, :at)
      words = [[:wish, [HOSTILE, 1]], [:advice, ["failure", 1, HOSTILE]], [:unknown, [HOSTILE]], [:effect, ["Hold", HOSTILE, 5]]]
        .map { |kind, values| CLI::Replay::Words.call(entry.new(kind, values, 1)) }
      words << CLI::Replay::Words.call(entry.new(:effect, ["Release", "cut off: \xE2"], 1))

      words.each { |line| refute_match(/[[:cntrl:]]|\u202E/, line) }
    end

    test "a field that isn't UTF-8 is null, and its bytes are in a second field, in base64" do
      assert_equal({a: nil}, CLI::RecordFields.field(:a, nil))
      assert_equal({a: "\e"}, CLI::RecordFields.field(:a, "\e".b))
      assert_equal({a: nil, a_base64: "/w=="}, CLI::RecordFields.field(:a, "\xFF".b))
    end

    test "headers whose names look alike when shown keep all their values" do
      record = Struct.new(:raw_key, :raw_payload, :raw_headers).new(nil, nil, {"\xFF".b => "a", '\xFF' => "\xFE".b})

      assert_equal({'\xFF' => ["YQ==", "/g=="]}, CLI::RecordFields.of(record)[:headers_base64])
    end
  end
end
