# frozen_string_literal: true

require "test_helper"
require "penstock/native/producer"
require "support/native_producing"
require "support/small_scheduler"

# Fibers that wait for deliveries, and what becomes of the others where one can't be woken.
class NativeFiberWaitsTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  # Says which deliveries are resolved when a test does.
  class Client
    def initialize = @resolved = Queue.new

    def resolve(*numbers) = @resolved << numbers

    def watch(_delivery, _number, _urgent) = true

    def take_watched(_left_ms) = @resolved.pop

    def rouse_watched = nil
  end

  Delivery = Struct.new(:number) do
    def done? = true

    def unwatch(_number) = nil
  end

  # One whose thread has ended.
  class Gone < Penstock::TestSupport::SmallScheduler
    def run = nil
    alias_method :close, :run

    def unblock(*) = raise(IOError, "closed stream")
  end

  def waiting(waits, scheduler, seen)
    Thread.new do
      Fiber.set_scheduler(scheduler)
      Fiber.schedule { seen << waits.wait(Delivery.new, nil, false) }
    end
  end

  test "a scheduler that can't be told any more keeps nobody else from being woken" do
    client = Client.new
    waits = Penstock::Native::FiberWaits.new(client)
    seen = Queue.new
    waiting(waits, gone = Gone.new, seen).join
    others = Array.new(2) { waiting(waits, Penstock::TestSupport::SmallScheduler.new, seen) }
    entries = waits.instance_variable_get(:@waiting)
    wait_until(40, "three that wait") { entries.size == 3 }
    client.resolve(1, 2, 3)

    assert(others.all? { |thread| thread.join(40) }, "a fiber is never woken")
    assert_equal 2, seen.size
    assert gone
  ensure
    others&.each(&:kill)
    client.resolve(nil)
    waits.instance_variable_get(:@thread).kill.join
  end

  test "an object that was never connected has nobody to wake" do
    client = Penstock::Native::Producer.allocate

    [-> { client.rouse_watched }, -> { client.take_watched(0) }].each do |call|
      assert_raises(Penstock::HandleClosedError, &call)
    end
  end
end
