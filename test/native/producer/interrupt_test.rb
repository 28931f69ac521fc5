# frozen_string_literal: true

require "test_helper"
require "support/native_producing"
require "support/ruby_program"

# Every blocking call of a producer can be ended: by Thread#kill, by Timeout, by a signal handler that raises.
class NativeProducerInterruptTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  WAITS = {
    "Delivery#wait" => ->(native, delivery) { delivery.wait(nil) },
    "sync_wait" => ->(native, delivery) { native.sync_wait(delivery, nil) },
    "flush" => ->(native, _) { native.flush(nil) },
    "wait_for_room" => ->(native, _) { native.wait_for_room(native.ticket, 60_000) },
    "wait_for_reports" => ->(native, _) { native.wait_for_reports(nil) },
    "close" => ->(native, _) { native.close(60_000) }
  }.freeze

  class Rung < StandardError; end

  WAITS.each do |name, wait|
    test "#{name} ends when its thread is killed" do
      native = stranded_producer
      delivery = dispatch(native)
      thread = Thread.new { wait.call(native, delivery) }
      wait_until(5, "a sleeping thread") { thread.status == "sleep" }

      assert_operator seconds { thread.kill.join }, :<, 5
    end

    test "#{name} ends at its timeout" do
      native = stranded_producer
      delivery = dispatch(native)

      took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { wait.call(native, delivery) } } }
      assert_operator took, :<, 5
    end

    test "#{name} ends when a signal handler raises" do
      native = stranded_producer
      delivery = dispatch(native)
      earlier = trap("USR2") { raise Rung }
      main = Thread.current
      ringer = Thread.new do
        wait_until(5, "a sleeping main thread") { main.status == "sleep" }
        ::Process.kill(:USR2, ::Process.pid)
      end

      assert_raises(Rung) { wait.call(native, delivery) }
    ensure
      ringer&.join
      trap("USR2", earlier || "DEFAULT")
    end
  end

  # In a process with one thread, Ruby ends a wait right in the signal handler, not from another thread.
  ALONE = <<~RUBY
    require "penstock/native/producer"
    Thread.list.size == 1 or abort("not alone")
    wait, timeout = *ARGV
    rung = 0
    trap("USR2") { rung += 1 }
    properties = {"bootstrap.servers" => "127.0.0.1:1"}
    properties["transactional.id"] = "alone" if wait == "transaction"
    native = Penstock::Native::Producer.new(properties)
    native.open_topic("things")
    delivery = native.dispatch({topic: "things", payload: "x"}) unless wait == "transaction"
    init = lambda do
      native.init_transactions(timeout.to_i).nil?
    rescue Penstock::RetriableError
      false
    end
    $stdout.sync = true
    puts "waits"
    begin
      resolved = case wait
      when "transaction" then init.call
      when "sync_wait" then native.sync_wait(delivery, timeout.to_i)
      else delivery.wait(timeout.to_i)
      end
      puts "resolved: \#{resolved}, handled: \#{rung}"
    rescue Interrupt
      puts "interrupted"
    end
    native.close(0)
  RUBY

  # @return [String] its output after each of the signals was sent during a wait
  def ring(signals, *arguments)
    IO.popen([*Penstock::TestSupport::RubyProgram.command("-e", ALONE, *arguments), {err: %i[child out]}]) do |program|
      assert_equal "waits\n", program.gets
      signals.each do |signal|
        observe_for(0.2)
        ::Process.kill(signal, program.pid)
      end
      program.read
    end
  end

  {"Delivery#wait" => "wait", "sync_wait" => "sync_wait", "init_transactions" => "transaction"}.each do |name, call|
    test "Ctrl-C ends #{name} of a process with one thread" do
      assert_equal "interrupted\n", ring(%i[INT], call, "60000")
    end

    test "handled signals don't end #{name} of a process with one thread before its deadline" do
      assert_equal "resolved: false, handled: 3\n", ring(%i[USR2] * 3, call, "1500")
    end
  end

  test "a wait continues after a signal whose handler returns" do
    native = stranded_producer
    delivery = dispatch(native)
    rung = 0
    earlier = trap("USR2") { rung += 1 }
    thread = Thread.new { delivery.wait(300) }
    3.times do |count|
      ::Process.kill(:USR2, ::Process.pid)
      wait_until(5, "handled signal") { rung > count }
    end

    refute thread.value, "resolved"
    assert_equal 3, rung
  ensure
    trap("USR2", earlier || "DEFAULT")
  end

  test "a wait lets other threads run" do
    native = stranded_producer
    delivery = dispatch(native)
    waiter = Thread.new { native.sync_wait(delivery, 1_000) }
    turns = 0
    turns += 1 while waiter.alive? && turns < 100_000

    assert_equal 100_000, turns
    waiter.kill.join
  end

  test "after a timeout the delivery can be waited for again" do
    native = stranded_producer(message_timeout_ms: 600)
    delivery = dispatch(native)

    refute delivery.wait(0)
    refute delivery.wait(50)
    assert delivery.wait(20_000)
    assert_equal(:msg_timed_out, delivery.error.code)
  end

  test "several threads wait for one delivery" do
    delivery = dispatch(producer(linger_ms: 100))
    threads = Array.new(8) { Thread.new { delivery.wait(10_000) } }

    assert_equal [true] * 8, threads.map(&:value)
  end
end
