# frozen_string_literal: true

require "test_helper"
require "logger"
require "open3"
require "socket"
require "stringio"
require "support/failing"
require "tmpdir"
require "penstock"
require "penstock/application"
require "penstock/runtime/letter_topics"

module Penstock
  # Mistakes of a user's first days with processes: runs, forks, ports, sockets. Their messages as a whole.
  class FirstDayProcessTest < TestCase
    include TestSupport::Failing

    # Runs until it is stopped.
    class Runner
      prepend Application::SingleRun

      def initialize
        @begun = Thread::Queue.new
        @ending = Thread::Queue.new
      end

      attr_reader :begun

      def run!(traps: true)
        @begun << traps
        @ending.pop
      end

      def stop! = @ending << 0
    end

    test "a second run!, and one after the end of the first, name the place of the first and what to do" do
      runner = Runner.new
      first = Thread.new { runner.run!(traps: false) }
      runner.begun.pop
      place = "#{__FILE__}:#{__LINE__ - 2}:in `block in <class:FirstDayProcessTest>'"
      second = assert_raises(ConfigurationError) { runner.run!(traps: false) }.message.sub(/block \(\d levels\)/, "block")
      runner.stop!
      first.join
      third = assert_raises(ConfigurationError) { runner.run!(traps: false) }.message.sub(/block \(\d levels\)/, "block")

      assert_equal "run!: this application runs already, since it was started at #{place}. A process runs an application once: " \
                   "stop that run with stop!, or start another process", ruby31(second)
      assert_equal "run!: this application has run in this process (#{place}) and has ended: a process runs an application " \
                   "once. Start another process", ruby31(third)
    end

    test "an exit code that nobody used is reported with the line to write" do
      library = File.expand_path("../../../lib", __dir__)
      _out, errors, _status = Open3.capture3(RbConfig.ruby, "-I#{library}", "-e", <<~RUBY)
        require "penstock/application/single_run"
        class Runner
          prepend Penstock::Application::SingleRun
          def run! = 2
        end
        Runner.new.run!
      RUBY

      assert_equal "penstock: run! returned 2, which means that the run failed, but the process ends with 0, which means " \
                   "success. Write `exit PenstockApp.run!`, so that its supervisor notices\n", errors
    end

    test "a port of the health page that is taken is refused with the setting and the likely reason" do
      server = TCPServer.new("127.0.0.1", 0)
      port = server.addr[1]
      endpoints = application { |config| config.health.port = port }.instance_variable_get(:@endpoints)
      error = assert_raises(ConfigurationError) { endpoints.open(notify: false) { flunk "opened" } }

      assert_equal "config.health.port: (#{port}) can't be listened on: Address already in use - bind(2) for \"127.0.0.1\" " \
                   "port #{port}. Another process uses it, or config.health.host (127.0.0.1) isn't an address of this machine",
        error.message
    ensure
      server&.close
    end

    test "a path that is too long for the control socket is a warning that names the variable" do
      folder = Dir.mktmpdir
      before, ENV["PENSTOCK_RUN_DIR"] = ENV["PENSTOCK_RUN_DIR"], File.join(folder, "a" * 120)
      application.controllable!.instance_variable_get(:@endpoints).open(notify: false) { nil }

      assert_match(/\AWARN `penstock status` and similar commands can't reach this process: too long unix socket path \(.*\)\. \
Set PENSTOCK_RUN_DIR, here and for the commands, to a folder with a short path that this user can write to\n\z/, @output.string)
    ensure
      ENV["PENSTOCK_RUN_DIR"] = before
      FileUtils.remove_entry(folder)
    end

    test "a second application is refused with both places" do
      apps = Penstock.instance_variable_get(:@apps)
      Penstock.instance_variable_set(:@apps, {})
      2.times { |index| FirstDayProcessTest.const_set(:"App#{index}", Class.new(::Penstock::App)) }
      line = __LINE__ - 1
      error = assert_raises(ConfigurationError) { Penstock.app }

      assert_equal "there are 2 applications: Penstock::FirstDayProcessTest::App0 (#{__FILE__}:#{line}), " \
                   "Penstock::FirstDayProcessTest::App1 (#{__FILE__}:#{line}). Write `default false` in all but one of them",
        error.message
    ensure
      Penstock.instance_variable_set(:@apps, apps)
      2.times { |index| FirstDayProcessTest.send(:remove_const, :"App#{index}") }
    end

    test "a dead letter topic that can't be created is refused at the start with the route, the reason and the way out" do
      cluster = Class.new do
        def topics(**) = {"orders" => 2}

        def create_topic(name, partitions:, **)
          raise KafkaError.build(number: 29, name: "TOPIC_AUTHORIZATION_FAILED",
            message: "#{name}: Authorization failed for #{partitions}.")
        end
      end.new
      topics = [route(features: dead_letters(0))]
      error = assert_raises(ConfigurationError) do
        Runtime::BootTopics.new(->(&block) { block.call(cluster) }, Logger.new(File::NULL)).check!(Runtime::LetterTopics.wanted(topics))
      end

      assert_equal "routes: topic orders, consumer_group #{topics.first.consumer_group_id}: its failed records go to dead, " \
                   "which doesn't exist and can't be created: dead: Authorization failed for 2. (topic_authorization_failed). " \
                   "Create it, or name another topic", error.message
    end

    test "a producer that the parent process used is refused in the child with what to do" do
      producer = ::Penstock::Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.logger = Logger.new(File::NULL)
      end
      producer.partition_count("orders") rescue nil # rubocop:disable Style/RescueModifier -- opens the client
      reader, writer = IO.pipe
      pid = ::Process.fork do
        producer.produce_async(topic: "orders", payload: "x")
      rescue => error
        writer.write(error.class, ": ", error.message)
      ensure
        writer.close
        exit!
      end
      writer.close
      ::Process.wait(pid)

      assert_equal "Penstock::ForkedHandleError: the producer was opened by process #{::Process.pid} and can't be used after " \
                   "fork: open one in the child", reader.read
    ensure
      producer&.close(timeout_ms: 10)
      reader&.close
    end

    private

    # Ruby 3.4 writes the label of a frame in another way.
    def ruby31(text) = text.gsub(/'([^']*)#?block/, "`block")

    def application(&block)
      @output = StringIO.new
      logger = Logger.new(@output, formatter: ->(level, _time, _name, text) { "#{level} #{text}\n" })
      ::Penstock::Application.new("first day") do |config|
        config.logger = logger
        block&.call(config)
      end
    end
  end
end
