# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/testing/cluster"
require "support/ruby_program"

module Penstock
  # The application inside another server's process.
  class EmbeddedTest < TestCase
    PROGRAM = <<~'RUBY'
      require "penstock"
      require "logger"
      SEEN = Queue.new
      class Consumer < Penstock::BaseConsumer
        def consume = messages.each { |message| SEEN << message.raw_payload }
        def shutdown = puts("shutdown")
      end
      class App < Penstock::App
        setup do |config|
          config.kafka = {"bootstrap.servers": ENV.fetch("KAFKA"), "fetch.wait.max.ms": 10}
          config.logger = Logger.new($stderr, level: Logger::ERROR) # slow turns of a busy machine are logged
        end
        routes.draw { topic(ENV.fetch("TOPIC")) { [consumer(Consumer), assign(true)] } }
      end
      $stdout.sync = true
      traps = %w[INT TERM].map { |name| Signal.trap(name, "DEFAULT") }
      pid = fork { exit!(Penstock::Embedded.stop.nil? && !Penstock::Embedded.running? ? 0 : 1) }
      puts "nothing to stop: #{Process.wait2(pid).last.success?}"
    RUBY

    def embedded(code)
      Testing::Cluster.start(topics: {"orders" => 1}) do |cluster|
        producer = Producer.new { |config| config.kafka = cluster.kafka }
        producer.produce_sync(topic: "orders", payload: "x")
        producer.close
        TestSupport::RubyProgram.run("#{PROGRAM}\n#{code}", timeout: 40,
          env: {"KAFKA" => cluster.bootstrap_servers, "TOPIC" => "orders"})
      end
    end

    test "[embedded start/stop/quiet] it starts once, traps no signals, becomes idle, and a stop from a trap waits for its end" do
      output, result = embedded(<<~'RUBY')
        2.times { Penstock::Embedded.start }
        puts "seen #{SEEN.pop}, #{Thread.list.count { |thread| thread.name == "penstock embedded" }} thread"
        pid = fork { exit!(Penstock::Embedded.running? ? 1 : 0) }
        puts "a child has none: #{Process.wait2(pid).last.success?}"
        Penstock::Embedded.quiet
        Thread.pass until %i[quieting quiet].include?(App.lifecycle.state) # it may not be seen in between
        trap("USR1") { puts "ended #{Penstock::Embedded.stop} #{App.lifecycle.state}" }
        Process.kill("USR1", $$)
        Thread.pass while Penstock::Embedded.running?
        puts "again #{Penstock::Embedded.stop}"
      RUBY

      assert_predicate result, :success?, output
      assert_equal ["nothing to stop: true", "seen x, 1 thread", "a child has none: true", "shutdown",
        "ended 0 terminated", "again 0"], output.lines(chomp: true).grep_v(/penstock/)
    end

    test "after a critical error has stopped the application, the host produces with its producer, which closes with the process" do
      output, result = embedded(<<~'RUBY')
        class Consumer
          def consume = raise(Penstock::CriticalError, "stops the application")
        end
        App.config.logger.level = Logger::FATAL
        Penstock::Embedded.start
        before = App.producer
        before.monitor.subscribe("producer.closed") { puts "closed" }
        Thread.pass while Penstock::Embedded.running?
        puts "stored at #{before.produce_sync(topic: "orders", payload: "y").offset}, #{before.equal?(App.producer)}"
        before.produce_async(topic: "orders", payload: "z")
        at_exit { puts "exit" }
      RUBY

      assert_predicate result, :success?, output
      assert_equal ["nothing to stop: true", "shutdown", "stored at 1, true", "exit", "closed"],
        output.lines(chomp: true)
    end

    # Without Puma itself: a worker is a forked process with a hook after its fork and one before its end.
    test "[embedded in Puma] a forked worker that is restarted drains what runs, and the next one continues after it" do
      output, result = embedded(<<~'RUBY')
        class Consumer
          def consume
            messages.each do |message|
              SEEN << message.raw_payload
              Thread.pass until stopping?
              puts "done #{message.raw_payload}"
            end
          end
        end
        worker = lambda do
          Penstock::Embedded.start # before_worker_boot
          SEEN.pop
          puts "ended #{Penstock::Embedded.stop}" # before_worker_shutdown
          exit!(0)
        end
        Process.wait(fork(&worker))
        producer = Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": ENV.fetch("KAFKA")} }
        producer.produce_sync(topic: "orders", payload: "y")
        producer.close
        Process.wait(fork(&worker))
      RUBY

      assert_predicate result, :success?, output
      assert_equal ["nothing to stop: true", "done x", "shutdown", "ended 0", "done y", "shutdown", "ended 0"],
        output.lines(chomp: true).grep_v(/penstock/)
    end
  end
end
