# frozen_string_literal: true

require "test_helper"
require "support/native_producing"
require "support/ruby_program"
require "support/small_scheduler"

class NativeProducerForkTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  # Runs the block in a forked child and returns what it returns, a String.
  def in_child
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.write(yield.to_s)
      writer.close
      exit!(0)
    end
    writer.close
    result = reader.read
    _, status = ::Process.wait2(pid)
    assert_predicate status, :success?, "the child ended with #{status.inspect}: #{result}"
    result
  ensure
    reader.close
  end

  def attempt
    yield.inspect
  rescue => error
    error.class.name
  end

  test "every use of a parent's producer in a child is a ForkedHandleError" do
    native = producer
    dispatch(native).wait(10_000)
    cluster.set_rtt(1, 60_000)
    pending = dispatch(native)
    uses = [-> { native.flush(10) }, -> { native.produce("things", "x") }, -> { native.ticket }, -> { native.purge },
      -> { native.queue_size }, -> { pending.wait(10) },
      -> { Penstock::Native::Completions.new.watch(pending, 1, 10, false) }]

    assert_equal ["Penstock::ForkedHandleError"] * uses.size, in_child {
      uses.map { |use| attempt(&use) }.join(" ")
    }.split
  end

  # In a child, its copy wakes no fiber.
  class OneProcessScheduler < Penstock::TestSupport::SmallScheduler
    def initialize
      super
      @pid = ::Process.pid
    end

    def run
      super if ::Process.pid == @pid
    end
  end

  test "a thread whose fibers wait may fork: the child's wait for their own deliveries, the parent's for theirs" do
    native = producer(linger_ms: 0)
    native.sync_wait(dispatch(native), nil)
    cluster.set_rtt(1, 500)
    pending = dispatch(native)
    address = cluster.bootstrap_servers
    seen = []
    before = eventfds
    thread = Thread.new do
      Fiber.set_scheduler(scheduler = OneProcessScheduler.new)
      2.times { scheduler.fiber { seen << pending.wait_in_fiber(40_000) } }
      seen << in_child { waits_of_a_child(address, pending) }
    end

    assert thread.join(60), "the parent's fibers are never woken"
    assert_equal ["#{before} Penstock::ForkedHandleError true", true, true], seen
  end

  # @return [String] how many such descriptors it has, and the results of a wait for the parent's delivery, and for its own
  def waits_of_a_child(address, pending)
    seen = [eventfds, attempt { pending.wait_in_fiber(10) }]
    Fiber.set_scheduler(scheduler = Penstock::TestSupport::SmallScheduler.new)
    native = producer_on(address, linger_ms: 0)
    scheduler.fiber { seen << dispatch(native).wait_in_fiber(40_000) }
    scheduler.run
    seen.join(" ")
  end

  # Ruby itself has some.
  def eventfds
    Dir["/proc/self/fd/*"].count { |path| File.symlink?(path) && File.readlink(path).include?("eventfd") }
  end

  # A thread that doesn't exist may hold them forever.
  test "a wait in a child for the parent's delivery fails without taking the parent's locks" do
    native = stranded_producer
    pending = dispatch(native)

    assert_equal "Penstock::ForkedHandleError []", in_child {
      locked = []
      Penstock::Native::Completions.prepend(Module.new { define_method(:unwatch) { |*arguments| locked << arguments } })
      "#{attempt { pending.wait_in_fiber(10) }} #{locked.map(&:last)}"
    }
  end

  test "a child does no harm: close, dispatch and queries have no effect" do
    native = producer
    dispatch(native).wait(10_000)

    assert_equal "[nil, 0, true, :discarded, \"\", nil, false, []]", in_child {
      [dispatch(native), native.close(1_000), native.closed?, native.state, native.last_error, native.poll_event,
        native.wait_for_reports(10), native.take_reports(1)].inspect
    }
    assert dispatch(native).wait(10_000), "the parent goes on"
  end

  test "a child garbage-collects its parent's producers and deliveries without touching them" do
    natives = Array.new(3) { stranded_producer }
    natives.each { |native| dispatch(native) }
    native = producer
    dispatch(native).wait(10_000)

    assert_equal "done", in_child {
      producers.clear
      natives = nil
      native = nil
      3.times { GC.start }
      "done"
    }
    assert dispatch(native).wait(10_000), "the parent goes on"
  end

  PROGRAM = <<~RUBY
    require "penstock/native/producer"
    producer = Penstock::Native::Producer.new({"bootstrap.servers" => ARGV.first})
    producer.open_topic("things")
    send = -> { producer.dispatch({topic: "things", payload: "x"}) }
    send.call.wait(10_000)
    handles = Array.new(10) { send.call }
    pid = fork do
      handles.clear
      GC.start
      WAY
    end
    _, status = Process.wait2(pid)
    print [status.exitstatus, status.termsig, send.call.wait(10_000), producer.close(5_000)].inspect
  RUBY

  {"exit" => "exit(3)", "exit!" => "exit!(3)", "the end of its block" => "at_exit { exit!(3) }"}.each do |name, way|
    test "[Child exit] a child that ends by #{name} doesn't crash and leaves the parent's producer connected" do
      code = "ARGV.replace([#{cluster.bootstrap_servers.inspect}])\n#{PROGRAM.sub("WAY", way)}"
      output, result = Penstock::TestSupport::RubyProgram.run(code)

      assert_predicate result, :success?, output
      assert_equal "[3, nil, true, 0]", output
    end
  end

  test "a child opens a producer of its own" do
    native = producer
    dispatch(native).wait(10_000)
    address = cluster.bootstrap_servers

    assert_equal "0", in_child {
      own = Penstock::Native::Producer.new({"bootstrap.servers" => address})
      own.open_topic("things")
      delivery = dispatch(own)
      delivery.wait(10_000)
      own.close(5_000)
      delivery.number
    }
  end

  test "forking while threads wait for deliveries doesn't end their waits in the parent" do
    native = stranded_producer(message_timeout_ms: 1_500)
    delivery = dispatch(native)
    threads = Array.new(4) { Thread.new { native.sync_wait(delivery, 30_000) } }
    wait_until(5, "waiting threads") { threads.all? { |thread| thread.status == "sleep" } }

    assert_equal "Penstock::ForkedHandleError", in_child { attempt { delivery.wait(10) } }
    assert_equal [true] * 4, threads.map(&:value)
  end
end
