# frozen_string_literal: true

require "test_helper"
require "tempfile"
require_relative "../../../../examples/demo/options"

class DemoOptionsTest < Penstock::TestCase
  test "properties may come from the command line and from files, and the last one counts" do
    options = with_file("# login\n\n  sasl.username = app \nsasl.password=a=b\n") do |path|
      parse("--bootstrap", "h:1", "--kafka", "sasl.username=other", "--kafka-file", path, "--kafka", "security.protocol=ssl")
    end

    assert_equal({"sasl.username" => "app", "sasl.password" => "a=b", "security.protocol" => "ssl"}, options.kafka)
  end

  test "the broker's address may be one of the properties" do
    options = parse("--kafka", "bootstrap.servers=h:9093")

    refute_predicate options, :embedded?
    assert_equal "h:9093", options.bootstrap
  end

  test "a line without a value and a missing file are refused by name, without text that may be secret" do
    assert_match(/sasl\.password: must be NAME=VALUE/, refusal("--kafka", "sasl.password"))
    assert_match(%r{No such file or directory.*/nowhere}, refusal("--kafka-file", "/nowhere"))
  end

  test "a login without a broker is refused" do
    assert_includes refusal("--kafka", "sasl.username=a"), "--bootstrap HOST:PORT"
  end

  private

  def parse(*argv)
    Demo::Options.parse(argv)
  end

  def refusal(*argv)
    _, said = capture_io { assert_raises(SystemExit) { parse(*argv) } }
    said
  end

  def with_file(text)
    Tempfile.create("login") do |file|
      file.write(text)
      file.close
      yield file.path
    end
  end
end
