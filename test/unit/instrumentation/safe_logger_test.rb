# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "penstock/instrumentation/safe_logger"

class SafeLoggerTest < Penstock::TestCase
  def setup
    super
    @output = StringIO.new
    @logger = Logger.new(@output, level: Logger::INFO, formatter: ->(level, _time, _name, text) { "#{level} #{text}\n" })
    @safe = Penstock::Instrumentation::SafeLogger.of(@logger)
  end

  test "an entry is safe to print, as text, as a block, and with a severity" do
    @safe.warn("a\e[2J\xFF\nERROR forged")
    @safe.info { "b\u202E" }
    @safe.add(Logger::ERROR, "c\r\a")

    assert_equal "WARN a\\e[2J\\xFF\n  ERROR forged\nINFO b\\u202E\nERROR c\\r\\x07\n", @output.string
  end

  test "a block isn't called for a level that isn't logged, and an entry is bounded" do
    @safe.debug { flunk "called" }
    @safe.info("x" * 20_000_000)

    assert_operator @output.string.bytesize, :<, 70_000
  end

  test "other methods are passed to the logger" do
    assert_equal [Logger::INFO, true, false], [@safe.level, @safe.info?, @safe.debug?]
    assert_respond_to @safe, :progname
    assert_raises(NoMethodError) { @safe.no_such_thing }
  end

  test "it is created once and doesn't change the logger" do
    assert_same @safe, Penstock::Instrumentation::SafeLogger.of(@safe)
    @logger.warn("\e")
    assert_equal "WARN \e\n", @output.string
  end
end
