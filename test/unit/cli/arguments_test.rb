# frozen_string_literal: true

require "test_helper"
require "penstock/cli/arguments"

class ArgumentsTest < Penstock::TestCase
  def setup
    @values = {}
    @arguments = Penstock::CLI::Arguments.new(@values, "server")
    @arguments.list(:include_topics, "--include-topics NAMES", "only these")
    @arguments.flag(:json, "--json", "as JSON")
    @arguments.value(:count, "-n", "--count N", Integer, "how many")
    @arguments.pairs(:properties, "-X", "--property NAME=VALUE", "a property")
  end

  test "options accept underscores and dashes" do
    @arguments.parse(["--include_topics=a_b,c-d", "--include-topics", "e"])

    assert_equal %w[a_b c-d e], @values[:include_topics]
  end

  test "an underscore in a value, in an argument or after -- is not changed" do
    assert_equal %w[my_topic --a_b], @arguments.parse(["my_topic", "--", "--a_b"])
  end

  test "the arguments are not changed and can be parsed again" do
    argv = ["--include_topics", "a", "rest"]
    2.times { assert_equal ["rest"], @arguments.parse(argv) }

    assert_equal ["--include_topics", "a", "rest"], argv
  end

  test "an unknown option names the nearest one" do
    error = assert_raises(Penstock::CLI::Usage) { @arguments.parse(["--include-topic=a"]) }

    assert_equal "server: there is no option --include-topic=a. Did you mean --include-topics?", error.message
  end

  test "an unknown option without a near one points to the help" do
    error = assert_raises(Penstock::CLI::Usage) { @arguments.parse(["--zzz"]) }

    assert_includes error.message, "`penstock server --help`"
  end

  test "options can't be abbreviated, so a new option never changes the meaning of an existing command line" do
    assert_raises(Penstock::CLI::Usage) { @arguments.parse(["--incl=a"]) }
  end

  test "a value of the wrong type is refused" do
    error = assert_raises(Penstock::CLI::Usage) { @arguments.parse(["--count", "many"]) }

    assert_includes error.message, "--count many"
  end

  test "an argument or an option's name that isn't valid in its encoding is refused, what follows -- isn't" do
    ["t\xFF", "--\xFF"].each do |word|
      error = assert_raises(Penstock::CLI::Usage) { @arguments.parse(["--json", word]) }

      assert_equal "server: the argument #{word.inspect} isn't valid UTF-8. Data with such bytes goes after --", error.message
    end
    assert_equal ["t\xFF"], @arguments.parse(["--json", "--", "t\xFF"])
  end

  test "a list with an empty item is refused" do
    error = assert_raises(Penstock::CLI::Usage) { @arguments.parse(["--include-topics", "orders,,x"]) }

    assert_equal "server: invalid argument: --include-topics an item is empty: orders,,x", error.message
  end

  test "pairs may be repeated, and their values may contain equals signs" do
    @arguments.parse(["-X", "a=1", "--property", "b=c=d"])

    assert_equal({"a" => "1", "b" => "c=d"}, @values[:properties])
  end

  test "a pair without an equals sign is refused" do
    assert_raises(Penstock::CLI::Usage) { @arguments.parse(["-X", "novalue"]) }
  end
end
