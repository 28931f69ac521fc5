# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "fileutils"
require "penstock/execution/processes/mold_spawn"
require "penstock/producer"
require "support/embedded_broker"
require "support/ruby_program"

module Penstock
  # Processes of an application that doesn't run on the main thread: their mold is spawned.
  class ExecutionEmbeddedTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::EmbeddedBroker

    # A consumer records the payload, its process and its parent process.
    BOOT = <<~'RUBY'
      require "logger"
      class OrdersConsumer < Penstock::BaseConsumer
        def consume
          messages.each do |message|
            File.write(ENV.fetch("SEEN"), "#{::Process.pid} #{::Process.ppid} #{message.raw_payload}\n", mode: "a")
            ::Process.kill(:KILL, ::Process.pid) if message.raw_payload == "killer" && attempt == 1
            ("a" * 40) =~ /(a+)+$x/ while message.raw_payload == "endless"
            mark_as_consumed(message)
          end
        end
      end
      class OrdersApp < Penstock::App
        setup do |config|
          config.kafka = {"bootstrap.servers": ENV.fetch("KAFKA"), "fetch.wait.max.ms": 10}
          config.group_id = ENV.fetch("GROUP")
          config.logger = Logger.new($stderr, level: Logger::INFO)
          config.initial_offset = "earliest"
          config.pause.timeout = 20
        end
        routes.draw { topic(ENV.fetch("TOPIC")) { [consumer(OrdersConsumer), run_on(:processes, max: 2), assign(true)] } }
      end
      puts "loaded"
      Penstock::Embedded.start(boot_file: __FILE__) # an initializer may
    RUBY
    HOST = <<~'RUBY'
      require "penstock"
      require "support/wait"
      $stdout.sync = true
      puts "host #{::Process.pid}"
      def seen = File.exist?(ENV.fetch("SEEN")) ? File.readlines(ENV.fetch("SEEN"), chomp: true).map(&:split) : []
      def seen?(count) = Penstock::TestSupport::Wait.wait_until(40, "records", state: -> { seen }) { seen.size >= count }
    RUBY

    def setup
      super
      @dir = File.realpath(Dir.mktmpdir("embedded"))
    end

    def teardown
      FileUtils.remove_entry(@dir)
      super
    end

    def at(name) = File.join(@dir, name)
    def seen = File.exist?(at("seen")) ? File.readlines(at("seen"), chomp: true).map(&:split) : []

    def alive?(pid)
      ::Process.kill(0, pid)
      true
    rescue Errno::ESRCH
      false
    end

    # Processes that stay would compute forever.
    def gone(pids)
      wait_until(20, "the end of #{pids}", state: -> { pids.select { |pid| alive?(pid) } }) { pids.none? { |pid| alive?(pid) } }
      assert(pids.none? { |pid| alive?(pid) })
    ensure
      pids.each { |pid| ::Process.kill(:KILL, pid) if alive?(pid) }
    end

    # @return [Hash{String => String}] environment of a host whose topic has records
    def env(payloads, boot = BOOT)
      File.write(at("boot.rb"), boot)
      topic = "t#{rand(1 << 40)}"
      create_topic(topic, 1)
      producer = Producer.new { |config| config.kafka = kafka }
      payloads.each { |payload| producer.produce_sync(topic: topic, payload: payload) }
      producer.close
      {"KAFKA" => kafka.fetch(:"bootstrap.servers"), "TOPIC" => topic, "GROUP" => "g#{topic}", "SEEN" => at("seen"),
       "BOOT" => at("boot.rb")}
    end

    # A host in a process of its own, which the block ends.
    def host(env, code)
      out, into = IO.pipe
      pid = ::Process.spawn(env, *TestSupport::RubyProgram.command("-e", "#{HOST}\n#{code}"), out: into)
      into.close
      yield pid, out
    ensure
      out&.close
      ::Process.kill(:KILL, pid)
      ::Process.wait(pid)
    end

    test "[run_on processes] embedded, records are processed elsewhere, a process that is killed is replaced, a stop leaves nothing" do
      output, result = TestSupport::RubyProgram.run(<<~RUBY, timeout: 60, env: env(%w[a killer b]))
        #{HOST}
        require ENV.fetch("BOOT")
        seen?(4)
        Signal.trap("INT") {}
        ::Process.kill(:INT, 0) # Ctrl-C: to all of them
        puts "stop \#{Penstock::Embedded.stop}"
      RUBY
      children, molds = seen.map { |pid, parent, _payload| [pid, parent] }.transpose.map(&:uniq)

      assert_predicate result, :success?, output
      assert_equal %w[a killer killer b], seen.map(&:last)
      assert_equal [2, 1], [children.size, molds.size], seen.inspect
      refute_includes children + molds, output[/host (\d+)/, 1]
      assert_empty((children + molds).select { |pid| alive?(Integer(pid)) })
      assert_equal ["loaded", "loaded", "stop 0"], output.lines(chomp: true).grep(/\A(loaded|stop)/).sort
    end

    test "[orphans] embedded, when the host is killed mold and processes end soon, also one that computes in C" do
      host(env(%w[endless]), "require ENV.fetch(\"BOOT\")\nIO.select(nil, nil, nil, 120)") do |pid, _out|
        wait_until(40, "a record") { seen.any? }
        ::Process.kill(:KILL, pid)
        gone(seen.first.first(2).map { |number| Integer(number) })
      end
    end

    test "[orphans] a host that is killed ends a process that loads the boot file forever" do
      boot = 'File.write(ENV.fetch("SEEN"), ::Process.pid); ("a" * 40) =~ /(a+)+$x/ while true'
      given = env([], boot)
      File.write(at("host.rb"), BOOT.sub(/^Penstock::Embedded.*$/, "Penstock::Embedded.start(boot_file: ENV.fetch(\"BOOT\"))"))
      host(given, "require #{at("host.rb").inspect}") do |pid, _out|
        wait_until(40, "the process") { seen.any? }
        ::Process.kill(:KILL, pid)
        gone([Integer(seen.first.first)])
      end
    end

    test "embedded, the thread that started it may end, the processes continue" do
      output, result = TestSupport::RubyProgram.run(<<~RUBY, timeout: 60, env: env(%w[a]))
        #{HOST}
        Thread.new { require ENV.fetch("BOOT") }.join
        seen?(1)
        producer = Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": ENV.fetch("KAFKA")} }
        producer.produce_sync(topic: ENV.fetch("TOPIC"), payload: "b")
        producer.close
        seen?(2)
        puts "stop \#{Penstock::Embedded.stop}"
      RUBY

      assert_predicate result, :success?, output
      assert_equal %w[a b], seen.map(&:last)
      assert_equal 1, seen.map { |line| line[1] }.uniq.size
      assert_includes output, "stop 0"
    end

    test "run! in a thread spawns too, from the boot file that is found or named" do
      boot = BOOT.sub(/^Penstock::Embedded.*$/, "")
      output, result = TestSupport::RubyProgram.run(<<~RUBY, timeout: 60, env: env(%w[a], boot))
        #{HOST}
        require ENV.fetch("BOOT")
        thread = Thread.new { OrdersApp.run!(traps: false, boot_file: ENV.fetch("BOOT")) }
        seen?(1)
        OrdersApp.stop!
        puts "stop \#{thread.value}"
      RUBY

      assert_predicate result, :success?, output
      assert_includes output, "stop 0"
      refute_includes seen.first.first(2), output[/host (\d+)/, 1]
      assert_empty(seen.first.first(2).select { |pid| alive?(Integer(pid)) })
    end

    # Boot files and the message when one of them is loaded a second time.
    {
      "raises" => ['raise "no database"', "can't be loaded again to fork processes from: RuntimeError: no database"],
      "isn't Ruby" => ["def (", "SyntaxError"],
      "needs what isn't there" => ['require "isnt_there"', "LoadError: cannot load such file -- isnt_there"],
      "exits" => ["exit 3", "calls exit"],
      "exits at once" => ["exit! 7", "ended with exit code 7 while it was loaded"],
      "dies" => ["::Process.kill(:KILL, ::Process.pid)", "ended by SIGKILL while it was loaded"],
      "closes all there is" => ["ObjectSpace.each_object(BasicSocket, &:close)", "while it was loaded"],
      "runs the application" => ["OrdersApp.run!", "the boot file runs the application"],
      "has other routes" => ['OrdersApp.routes.draw { topic("more") { consumer(OrdersConsumer) } }',
        "the boot file defines topic more of group g with OrdersConsumer on :threads"],
      "opens a handle" => ['Penstock.producer.produce_async(topic: "orders", payload: "x") # here', "Producer opened at BOOT:23"],
      "isn't loaded in time" => ["IO.select(nil)", "isn't loaded after 2 s", 2]
    }.each do |what, (code, said, seconds)|
      test "a boot file that #{what} is a boot error with a message, and no process is left" do
        before = children
        error = assert_raises(ConfigurationError) { spawned((what == "isn't Ruby") ? code : booting(code), seconds || 60) }

        assert_includes error.message.gsub(at("boot.rb"), "BOOT"), said
        assert_equal before, children
      end
    end

    test "a boot file may print, read standard input, fork and change its folder" do
      mold = spawned(booting("puts 'a line'; $stdin.read; fork { exit }; Thread.new { IO.select(nil) }; Dir.chdir('/')"), 60)
      wait_until(20, "its name") { File.read("/proc/#{mold.pid}/cmdline").start_with?("penstock mold of #{::Process.pid}\0") }
      mold.close

      refute alive?(mold.pid)
    end

    private

    # Of all threads; the embedded broker is one.
    def children = Dir.glob("/proc/self/task/*/children").flat_map { |path| File.read(path).split }.sort

    # Without the environment's settings for other places.
    def booting(code)
      values = {"TOPIC" => "orders", "GROUP" => "g", "KAFKA" => "127.0.0.1:1"}
      BOOT.sub(/^Penstock::Embedded.*$/, code).sub(/^puts.*$/, "").gsub(/ENV.fetch\("(\w+)"\)/) { values.fetch($1, "").inspect }
    end

    def spawned(boot, seconds)
      File.write(at("boot.rb"), boot)
      Execution::Processes::MoldSpawn.new(file: at("boot.rb"), timeout_s: seconds, name: "OrdersApp", topics: ["g_orders"],
        routes: ["topic orders of group g with OrdersConsumer on :processes"], events: ["error.occurred"]).call
    end
  end
end
