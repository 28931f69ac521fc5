# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock"
require "penstock/native/admin"
require "penstock/producer"
require "support/embedded_broker"
require "support/real_broker"
require "support/rules"
require "support/ruby_program"

module Penstock
  # Applications whose units run in fibers or in other processes, on any broker. The class that includes it defines
  # `kafka` and `create_topic`.
  module ExecutionApplication
    extend TestSupport::Rules

    # An application whose main thread runs it, in a process of its own, on the class's broker. It is stopped by signal
    # when it has logged the expected number of records.
    PROGRAM = <<~'RUBY'
      require "penstock"
      require "json"
      require "logger"
      class Base < Penstock::BaseConsumer
        def log(*words) = $stdout.syswrite("#{words.join(" ")}\n")
        def consume = messages.each { |message| step(message) }
      end
      $stdout.sync = true
      app = Penstock::Application.new("test") do |config|
        config.client_id = "test"
        config.group_id = ENV.fetch("GROUP")
        config.kafka = JSON.parse(ENV.fetch("KAFKA"), symbolize_names: true)
        config.logger = Logger.new($stderr, level: Logger::WARN)
        config.pause.timeout = 20
      end
    RUBY
    RUN = <<~'RUBY'
      begin
        code = app.run!
      rescue Penstock::ConfigurationError => error
        puts "refused: #{error.message}"
        code = 1
      end
      left = Dir.glob("/proc/self/task/*/children").flat_map { |path| File.read(path).split }
      puts "left #{left.size}"
      exit!(code)
    RUBY

    def topic_with(payloads)
      "t#{rand(1 << 40)}".tap do |name|
        create_topic(name, 1)
        producer = Producer.new { |config| config.kafka = kafka.slice(:"bootstrap.servers") }
        payloads.each { |payload| producer.produce_async(topic: name, payload: payload, key: payload) }
        producer.close
      end
    end

    # @return [(Array<String>, Child::Result)] lines, and how it ended
    def program(code, topic, seconds: 40)
      code = "#{PROGRAM}\n#{code}\n#{RUN}"
      output, result = TestSupport::RubyProgram.run(code, timeout: seconds, env: {
        "GROUP" => "g#{rand(1 << 40)}", "KAFKA" => JSON.generate(kafka), "TOPIC" => topic
      })
      [output.lines(chomp: true), result]
    end

    rule "[run_on processes] user code runs in other processes, marks and a stop work, and nothing is left" do
      lines, result = program(<<~RUBY, topic_with(%w[a b c d e f]))
        class Own < Base
          def step(message)
            log("pid", ::Process.pid, message.raw_payload, mark_as_consumed!(message))
            ::Process.kill(:INT, 0) if message.offset == 5 # Ctrl-C: to all of them
          end
        end
        ENV["APP"] = ::Process.pid.to_s
        puts "app \#{::Process.pid}"
        app.routing.draw { topic(ENV.fetch("TOPIC")) { [consumer(Own), run_on(:processes, max: 2)] } }
      RUBY
      told = lines.grep(/^pid/).map(&:split)

      assert_predicate result, :success?, lines.inspect
      assert_equal %w[a b c d e f], told.map { |line| line[2] }
      assert_equal ["true"], told.map(&:last).uniq
      refute_includes told.map { |line| line[1] }, lines.grep(/^app/).first.split.last
      assert_includes lines, "left 0"
    end

    rule "[run_on processes] a record that kills its process is tried again and named, the others continue" do
      lines, result = program(<<~RUBY, topic_with(%w[a killer c d]))
        class Own < Base
          def step(message)
            log(message.raw_payload, attempt)
            exit!(9) if message.raw_payload == "killer" && attempt < 3
            ::Process.kill(:TERM, ENV.fetch("APP").to_i) if message.offset == 3
          end
        end
        ENV["APP"] = ::Process.pid.to_s
        app.monitor.subscribe("error.occurred") { |event| puts "error \#{event[:error].message}" }
        app.routing.draw { topic(ENV.fetch("TOPIC")) { [consumer(Own), run_on(:processes, max: 1)] } }
      RUBY

      assert_predicate result, :success?, lines.inspect
      assert_equal %w[1 2 3], lines.grep(/^killer/).map { |line| line.split.last }, lines.join("\n")
      assert_equal 2, lines.grep(/^error process \d+ ended with exit code 9 while it ran t\d+\/0 at offset 1/).size
      assert_includes lines, "d 1"
      assert_includes lines, "left 0"
    end

    rule "[run_on fibers] a hundred records of one partition wait at the same time on one thread" do
      lines, result = program(<<~RUBY, topic_with(Array.new(100, &:to_s)))
        require "async"
        require "support/wait"
        class Own < Base
          def step(message)
            $most = [($at_once = $at_once.to_i + 1), $most.to_i].max
            Penstock::TestSupport::Wait.wait_until(20, "the others") { $most == 100 }
            $at_once -= 1
            $threads = [*$threads, Thread.current.name].uniq
            return unless ($done = $done.to_i + 1) == 100
            log("most", $most, "on", $threads.inspect)
            ::Process.kill(:TERM, ::Process.pid)
          end
        end
        app.routing.draw do
          topic(ENV.fetch("TOPIC")) { [consumer(Own), parallel(by: :message, max_partitions: 100), run_on(:fibers, max: 100)] }
        end
      RUBY

      assert_predicate result, :success?, lines.inspect
      most = lines.grep(/^most/).first
      assert_equal %(most 100 on ["penstock fibers 0"]), most
    end
  end

  class ExecutionApplicationTest < TestCase
    leaks_checked_per_class("the embedded broker serves all tests of the class")

    include TestSupport::EmbeddedBroker
    include ExecutionApplication

    ExecutionApplication.add_to(self)

    test "[run_on processes] boot fails with the line that opened a handle" do
      lines, result = program(<<~RUBY, "none")
        app.producer.produce_async(topic: "any", payload: "x") # opened here
        app.routing.draw { topic("none") { [consumer(Base), run_on(:processes)] } }
      RUBY

      assert_equal 1, result.status.exitstatus
      assert(lines.any? { |line| line.include?("Producer opened at -e:#{PROGRAM.lines.size + 2}") }, lines.inspect)
    end

    test "[run_on processes] outside of the main thread boot reports which boot file it looked for, and what to do" do
      lines, result = program(<<~RUBY, "none")
        app.routing.draw { topic("none") { [consumer(Base), run_on(:processes)] } }
        main = app
        app = Struct.new(:run!).new(Thread.new { main.run!(traps: false) rescue puts("refused: \#{$!.message}") || 1 }.value)
      RUBY

      assert_equal 1, result.status.exitstatus
      said = lines.join("\n")
      assert_includes said, "refused: run_on :processes: outside of the main thread, processes are forked from one that loads"
      assert_includes said, "config/penstock.rb"
      assert_includes said, "Penstock::Embedded.start(boot_file: \"…\")"
    end

    test "[run_on fibers] without the gem boot reports which gem it needs" do
      code = <<~RUBY
        app.routing.draw { topic("none") { [consumer(Base), run_on(:fibers)] } }
      RUBY
      output, result = TestSupport::RubyProgram.run("#{PROGRAM}\n#{code}\n#{RUN}",
        env: {"GROUP" => "g", "KAFKA" => '{"bootstrap.servers": "127.0.0.1:1"}', "RUBYOPT" => "--disable-gems"})

      assert_equal 1, result.status.exitstatus, output
      assert_includes output, "run_on :fibers needs the gem async"
      assert_includes output, "Gemfile"
    end
  end

  class ExecutionApplicationOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include ExecutionApplication

    ExecutionApplication.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def create_topic(name, partitions)
      admin = Native::Admin.new("bootstrap.servers" => bootstrap_servers)
      admin.create_topics([[name, partitions, 1, {}]], 10_000)
    ensure
      admin&.close
    end
  end
end
