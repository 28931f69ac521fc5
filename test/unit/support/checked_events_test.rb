# frozen_string_literal: true

require "test_helper"
require "open3"
require "penstock/instrumentation/monitor"

# A wrong payload fails the test during which Penstock emitted it, in whichever process that was.
class CheckedEventsTest < Penstock::TestCase
  CheckedEvents = Penstock::TestSupport::CheckedEvents
  LIB = File.expand_path("../../../lib", __dir__)

  # Emits an event as a file of Penstock's does.
  def emit(monitor, name, payload, file: "lib/penstock/server/launcher.rb", &block)
    path = File.expand_path("../../../#{file}", __dir__)
    emitter = RubyVM::InstructionSequence.compile("->(on, name, payload, &block) { on.instrument(name, payload, &block) }", path,
      path, 7).eval
    emitter.call(monitor, name, payload, &block)
  end

  def found
    emit(Penstock::Instrumentation::Monitor.new, *yield)
    CheckedEvents.take
  end

  test "a missing key and an undeclared one are reported, with the event and its place" do
    wrong = "app.running: the payload has no [:server_id] and has undeclared [:server] (lib/penstock/server/launcher.rb:7)"
    assert_equal [wrong], found { ["app.running", {server: "a"}] }
    assert_empty(found { ["app.running", {server_id: "a"}] })
  end

  test "an optional key may be missing; so may the caller, which every event may have" do
    lane = {topic: "t", partition: 0, offset: 1, timeout: 2, reason: :delay}

    assert_empty(found { ["filtering.throttled", lane] })
    assert_empty(found { ["filtering.throttled", {**lane, message: 1, caller: self}] })
  end

  test "a timed event needs its time, which a block adds; any other event has none" do
    job = {job: 1, jobs_queue: 2}
    monitor = Penstock::Instrumentation::Monitor.new
    emit(monitor, "worker.processed", job) { 1 }

    assert_empty CheckedEvents.take
    assert_match(/has no \[:time\]/, found { ["worker.processed", job] }.join)
    emit(monitor, "worker.process", job) { 1 }
    assert_match(/undeclared \[:time\]/, CheckedEvents.take.join)
  end

  test "what a test emits itself isn't compared" do
    emit(Penstock::Instrumentation::Monitor.new, "app.running", {}, file: "test/unit/example.rb")

    assert_empty CheckedEvents.take
  end

  test "the test fails during which a wrong payload was emitted" do
    emitting = method(:emit)
    klass = Class.new(Penstock::TestCase)
    Minitest::Runnable.runnables.delete(klass)
    klass.test("example") { assert_nil emitting.call(Penstock::Instrumentation::Monitor.new, "app.running", {}) }

    assert_match(/app\.running: the payload has no \[:server_id\]/, klass.new("test_ example").run.failure.message)
  end

  test "a program that a test spawns is checked, too, and loads nothing more than without" do
    program = "print defined?(Penstock::Instrumentation).inspect; require 'penstock/instrumentation/monitor'; " \
      "eval(\"Penstock::Instrumentation::Monitor.new.instrument('app.running', {})\", binding, '#{LIB}/penstock/x.rb', 1)"
    out, status = Open3.capture2e(CheckedEvents::ENVIRONMENT, RbConfig.ruby, "-I#{LIB}", "-e", program)

    assert_equal ["nil", true], [out, status.success?]
    assert_equal ["app.running: the payload has no [:server_id] and has undeclared [] (lib/penstock/x.rb:1)"], CheckedEvents.take
  end
end
