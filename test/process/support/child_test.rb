# frozen_string_literal: true

require "test_helper"
require_relative "../../support/child"

# The base of every supervised process of the suite.
class ChildTest < Penstock::TestCase
  Child = Penstock::TestSupport::Child

  test "a child that ends in time is described by its exit code" do
    result = Child.run(["sh", "-c", "exit 3"], timeout: 5)

    refute_predicate result, :success?
    assert_equal "ended with exit code 3", result.to_s
  end

  test "a child over its limit is killed with everything it started" do
    reader, writer = IO.pipe
    result = Child.run(["sh", "-c", "tail -f /dev/null & echo $!; wait"], timeout: 0.3, out: writer)
    grandchild = reader.gets.to_i

    assert result.timed_out
    wait_until(5, "end of #{grandchild}") { !running?(grandchild) }
    assert_match(/stopped after its limit/, result.to_s)
  ensure
    [reader, writer].each(&:close)
  end

  def running?(pid)
    File.read("/proc/#{pid}/stat").rpartition(") ").last[0] != "Z"
  rescue Errno::ENOENT, Errno::ESRCH
    false
  end
end
