# frozen_string_literal: true

require "test_helper"

# All other tests depend on the harness, so it is tested here with small classes of its own.
class TestCaseTest < Penstock::TestCase
  # Not in Minitest's list: it only runs when a test below runs it.
  def run_one(&body)
    klass = Class.new(Penstock::TestCase)
    Minitest::Runnable.runnables.delete(klass)
    klass.test("example", &body)
    klass.define_method(:grace_seconds) { 0.05 }
    klass.new("test_ example").run
  end

  test "a test without assertions fails" do
    assert_match(/no assertion/, run_one { 1 + 1 }.failure.message)
  end

  test "a test with an assertion passes" do
    assert_predicate run_one { assert true }, :passed?
  end

  test "a leaked thread fails the test and is named" do
    leaked = nil
    result = run_one do
      leaked = Thread.new { Thread.stop }
      assert true
    end

    assert_match(/left behind: thread .*test_case_test/, result.failure.message)
  ensure
    leaked.kill.join
  end

  test "a leaked file descriptor fails the test and is named" do
    leaked = nil
    result = run_one do
      leaked = File.open(__FILE__)
      assert true
    end

    assert_match(/file descriptor \d+ -> .*test_case_test/, result.failure.message)
  ensure
    leaked.close
  end

  test "two tests of one class can't have the same name" do
    klass = Class.new(Penstock::TestCase)
    Minitest::Runnable.runnables.delete(klass)
    klass.test("x") {}

    assert_raises(ArgumentError) { klass.test("x") {} }
  end

  test "a warning about one of our files raises" do
    path = File.join(Penstock::TestSupport::Warnings::ROOT, "lib/x.rb")

    assert_raises(RuntimeError) { Warning.warn("#{path}:1: warning: something\n") }
  end

  test "a wait that times out names what it waited for and the state" do
    error = assert_raises(Penstock::TestSupport::Wait::TimeoutError) do
      wait_until(0.01, "record", state: -> { {seen: 3} }) { false }
    end

    assert_match(/after 0.01 s still no record; state: \{:?seen/, error.message)
  end
end
