# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

# An idle client is disconnected, and the next call opens another.
class ProducerDisconnectTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  def sockets
    Dir.children("/proc/self/fd").count do |fd|
      File.readlink("/proc/self/fd/#{fd}").start_with?("socket:")
    rescue SystemCallError
      false # only the one that reads it
    end
  end

  # The setting itself is at least 30 s.
  def idle_api(timeout_ms)
    sender = connected_api { |config| config.idle_disconnect_timeout = 30_000 }
    short = sender.config.dup.tap { |copy| copy.instance_variable_set(:@idle_disconnect_timeout, timeout_ms) }
    sender.tap { sender.instance_variable_get(:@connection).instance_variable_set(:@config, short) }
  end

  test "[Idle disconnect] without a message for a while the sockets are closed, and the next message opens new ones" do
    sender = idle_api(400)
    seen = events_of(sender, "producer.connected", "producer.disconnected")
    cluster
    before = most = sockets
    sender.monitor.subscribe("message.produced_sync") { most = sockets } # within the call, which keeps the client
    sender.produce_sync(thing)
    wait_until(30, "a disconnected producer") { sender.status.disconnected? }

    assert_operator most, :>, before
    wait_until(10, "closed sockets", state: -> { [before, sockets] }) { sockets <= before }
    assert_equal 0, sender.queue_size
    assert_predicate sender.produce_sync(thing), :delivered?
    assert_equal %w[producer.connected producer.disconnected producer.connected], all_of(seen).map(&:id).first(3)
  end

  test "a pending message, a buffered one or a call keeps the client connected" do
    sender = connected_api
    refute sender.disconnect, "it isn't connected"
    sender.produce_sync(thing)
    wait_until(20, "a client without work") { sender.disconnectable? }

    sender.buffer(thing)
    refute sender.disconnect
    sender.flush_sync
    cluster.set_rtt(1, 300)
    handle = sender.produce_async(thing)
    refute sender.disconnect
    assert_predicate handle.wait, :delivered?
    sender.monitor.subscribe("message.produced_sync") { refute sender.disconnect }
    sender.produce_sync(thing)
    assert wait_until(20, "a client without work") { sender.disconnect }
    assert_predicate sender.status, :disconnected?
  end

  test "a disconnected producer can be closed, and flushed" do
    sender = connected_api
    sender.produce_sync(thing)
    assert wait_until(20, "a client without work") { sender.disconnect }
    assert sender.flush(10_000)
    assert wait_until(20, "a client without work") { sender.disconnect }
    sender.close

    assert_predicate sender, :closed?
    refute sender.disconnect
  end

  test "threads that produce during a disconnect lose nothing, and nothing is sent twice" do
    sender = connected_api(kafka: {"linger.ms": 0})
    stop = false
    handles = Queue.new
    threads = Array.new(3) do |index|
      Thread.new do
        until stop
          sent = index.zero? ? sender.produce_many_async([thing] * 3, handle: true) : [sender.produce_async(thing)]
          sent.each { |handle| handles << handle }
          sent.last.wait
        end
      end
    end
    done = 0
    wait_until(40, "disconnects between", state: -> { done }) { (sender.disconnect && done += 1) || done >= 5 }
    stop = true
    threads.each(&:join)

    offsets = Array.new(handles.size) { handles.pop.wait }.group_by(&:partition).transform_values { |all| all.map(&:offset) }
    offsets.each_value { |all| assert_equal (0...all.size).to_a, all.sort }
  end

  test "a forked child doesn't disconnect its parent's client" do
    sender = connected_api
    sender.produce_sync(thing)
    pid = fork do
      result = begin
        sender.disconnect
      rescue Penstock::ForkedHandleError
        false
      end
      exit!(result ? 1 : 0)
    end

    assert_predicate Process.wait2(pid).last, :success?
    assert_predicate sender.produce_sync(thing), :delivered?
  end
end
