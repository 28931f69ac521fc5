# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require_relative "../../support/child"
require_relative "../../support/result_file"
require_relative "../../support/runner/tally"

class TallyTest < Penstock::TestCase
  Status = Struct.new(:exitstatus, :termsig) do
    def success?
      exitstatus == 0
    end

    def signaled?
      !termsig.nil?
    end
  end

  def setup
    @tally = Penstock::TestSupport::Runner::Tally.new
  end

  def child(exitstatus: 0, signal: nil, timed_out: false)
    Penstock::TestSupport::Child::Result.new(status: Status.new(exitstatus, signal), timed_out: timed_out, seconds: 1)
  end

  def add(name, result, **counts)
    Dir.mktmpdir do |dir|
      path = File.join(dir, "result.json")
      File.write(path, JSON.generate({passed: 0, failed: [], skipped: {}}.merge(counts))) if counts.any?
      @tally.add(name, result, path)
    end
  end

  test "the counts of all processes add up to one line" do
    add("unit", child, passed: 3)
    add("native", child(exitstatus: 1), passed: 2, failed: ["X#y"], skipped: {"why" => 4})

    assert_equal "5 passed, 1 failed, 4 skipped", @tally.closing_line
    refute_predicate @tally, :success?
  end

  test "a process that dies before it reports is a failure" do
    add("native", child(exitstatus: nil, signal: 11))

    assert_equal "0 passed, 1 failed, 0 skipped", @tally.closing_line
    output = StringIO.new
    @tally.report(output)
    assert_match(/native: ended by signal SEGV before it reported/, output.string)
  end

  test "a process whose tests passed but that ends badly is a failure" do
    add("native", child(exitstatus: 99), passed: 2)

    assert_equal "2 passed, 1 failed, 0 skipped", @tally.closing_line
  end

  test "the output of a failed test is repeated at the end" do
    Dir.mktmpdir do |dir|
      file = Penstock::TestSupport::ResultFile.new(path = File.join(dir, "result.json"))
      result = Minitest::Result.from(Minitest::Test.new("test_ x"))
      result.time = 1.0
      result.failures << Minitest::Assertion.new((["seed 5: lost"] + (["more"] * 50)).join("\n"))
      file.record(result)
      file.report
      @tally.add("unit", child(exitstatus: 1), path)
    end
    output = StringIO.new
    @tally.report(output)

    assert_match(/^  Minitest::Test#test_ x\n      seed 5: lost\n/, output.string)
    assert_equal 24, output.string.scan(/^      more$/).size
    assert_equal "0 passed, 1 failed, 0 skipped", @tally.closing_line
  end

  test "the closing line shows how to run tests that were skipped because Kafka is missing" do
    @tally.skip(7, "broker tests, no real Kafka: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS")
    @tally.skip(1, "something else")

    assert_equal "0 passed, 0 failed, 8 skipped (7 need a real Kafka: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS)",
      @tally.closing_line
    assert_predicate @tally, :success?
  end
end
