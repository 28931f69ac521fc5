# frozen_string_literal: true

require "test_helper"
require "support/own_process"

# Tests of a class with a process for each test: what they may do to that process, and how their end is reported.
class OwnProcessTest < Penstock::TestCase
  # Not in Minitest's list: it runs only when a test below runs it.
  def run_test(seconds: 60, &body)
    klass = Class.new(Penstock::TestCase)
    Minitest::Runnable.runnables.delete(klass)
    klass.prepend(Penstock::TestSupport::OwnProcess)
    klass.define_singleton_method(:name) { "Tried" }
    klass.define_singleton_method(:limit_seconds) { seconds }
    klass.define_method(:grace_seconds) { 0.05 }
    klass.test("it", &body)
    klass.new("test_ it").run
  end

  def told(result) = result.failures.map(&:message).join("\n")

  test "a test that passes has passed, with its assertions, in another process" do
    pid = ::Process.pid
    result = run_test { 3.times { refute_equal pid, ::Process.pid } }

    assert_predicate result, :passed?, told(result)
    assert_equal [3, "Tried", "test_ it"], [result.assertions, result.klass, result.name]
  end

  test "a failure, an error of any class, a skip and a test that can't fail are reported as usual" do
    odd = Class.new(StandardError) { def initialize(text) = super.tap { @gate = Mutex.new } }

    assert_match(/Expected: 1/, told(run_test { assert_equal 1, 2 }))
    assert_match(/odd one/, told(run_test { raise odd, "odd one" }))
    assert_predicate run_test { skip "not here" }, :skipped?
    assert_match(/no assertion/, told(run_test { nil }))
  end

  test "what a test leaves in its process is its failure" do
    assert_match(/left behind: thread/, told(run_test { assert Thread.new { Thread.stop } }))
  end

  test "a child that dies, or doesn't end, is a failure, and no process is left" do
    assert_match(/sent no outcome: pid \d+ exit 3/, told(run_test { exit!(3) }))
    assert_match(/sent no outcome: pid \d+ SIGKILL/, told(run_test { ::Process.kill(:KILL, ::Process.pid) }))
    assert_match(/sent no outcome: pid \d+ SIGKILL/, told(run_test(seconds: 0.3) { observe_for(60) }))
  end
end
