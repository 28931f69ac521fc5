# frozen_string_literal: true

require "test_helper"
require "net/http"
require "support/embedded_broker"
require "support/free_port"
require "support/served"

module Penstock
  # Puma's plugin: consumers and an embedded broker run as long as Puma does.
  class PumaPluginTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Delivering
    include TestSupport::Started

    extend TestSupport::EmbeddedBroker::OnePerClass

    # A job with the record "long" runs until the application stops.
    APPLICATION = <<~'RUBY'
      require "penstock"
      STOPPING = Thread::Queue.new
      NEVER = IO.pipe
      class Work < Penstock::BaseConsumer
        def consume
          messages.each do |message|
            write "begin #{message.raw_payload}"
            STOPPING.pop if message.raw_payload == "long"
            Thread.handle_interrupt(Exception => :never) { NEVER.first.read } if message.raw_payload == "stubborn"
            write "end #{message.raw_payload}"
          end
        end

        def write(text) = File.write(ENV.fetch("JOURNAL"), "#{text}\n", mode: "a")
      end
      class PumaApp < Penstock::App
        setup do |config|
          config.client_id = config.group_id = "puma"
          config.kafka = {"bootstrap.servers": ENV.fetch("ADDRESS")}
        end
        routes.draw { topic(:orders) { consumer Work; config(partitions: 2) } }
        monitor.subscribe("app.stopping") { STOPPING.close }
      end
    RUBY
    SERVER = <<~RUBY
      plugin :penstock
      threads 1, 1
      bind "tcp://127.0.0.1:0"
      raise_exception_on_sigterm false
      app { |_env| [200, {}, ["served"]] }
    RUBY
    BROKER = /an embedded broker listens at 127\.0\.0\.1/
    MEMBER = /assigned orders 0, 1/

    def setup
      super
      @address = "127.0.0.1:#{TestSupport::FreePort.take.first}"
    end

    def puma(version = 8, *options, application: APPLICATION, environment: nil, **spawn)
      locked = File.join(ROOT, "test/gemfiles/puma_#{version}.gemfile.lock")
      skip "Puma #{version} is not installed: bin/setup prints why" unless File.exist?(locked)
      write("penstock.rb", application)
      write("puma.rb", SERVER)
      env = CLEAN.merge("BUNDLE_GEMFILE" => locked.delete_suffix(".lock"), "BUNDLE_PATH" => File.join(ROOT, "vendor/bundle"),
        "PWD" => @dir, "PENSTOCK_ROOT_DIR" => @dir, "ADDRESS" => @address, "JOURNAL" => File.join(@dir, "journal"),
        "RAILS_ENV" => environment)
      command = [RbConfig.ruby, "-S", "bundle", "exec", "puma", "-C", "puma.rb", *options]
      started(TestSupport::Served::Process.new(command, dir: @dir, env: env, **spawn))
    end

    def order(payload) = deliver({"bootstrap.servers": @address}, [{topic: "orders", payload: payload}])

    def await_journal(server, line)
      server.await("#{line} in the journal", 60) { server.journal.include?("#{line}\n") }
    end

    # @return [Array<Integer>] the child, and the broker that is its child
    def family(server)
      child = server.log.scan(/running \(pid (\d+)\)/).last.first
      broker = File.read("/proc/#{child}/task/#{child}/children").split.find do |pid|
        File.read("/proc/#{pid}/cmdline").include?("broker")
      end
      [child, broker].compact.map(&:to_i)
    end

    def await_ends(server, pids)
      server.await("the end of #{pids}", 60) { pids.none? { |pid| File.exist?("/proc/#{pid}") } }
    end

    def assert_serves(server)
      port = Integer(server.log[/Listening on http:\/\/127\.0\.0\.1:(\d+)/, 1])

      assert_equal "served", Net::HTTP.get("127.0.0.1", "/", port)
    end

    def assert_starts_restarts_and_stops(server)
      server.await_log(MEMBER)
      order("first")
      await_journal(server, "end first")
      before = family(server)
      server.signal(:USR2)
      server.await_log(MEMBER, 2)
      await_ends(server, before)
      order("long")
      await_journal(server, "begin long")
      after = family(server)
      server.signal(:TERM)

      assert_equal 0, server.code(60), server.tail
      assert_includes server.journal, "end long\n", "a stop waits for the running job"
      await_ends(server, after)
      assert_equal [2, 2], [before.size, after.size], "consumers and a broker"
      refute_includes server.log, "has ended"
    end

    [6, 7, 8].each do |version|
      test "[Puma plugin] Puma #{version}, single: consumers and a broker start, restart and stop with it" do
        assert_starts_restarts_and_stops(puma(version))
      end

      test "[Puma plugin] Puma #{version}, with workers: consumers and a broker start, restart and stop with it" do
        assert_starts_restarts_and_stops(puma(version, "-w", "2"))
      end
    end

    test "[Puma plugin] when Puma is killed, consumers and broker notice and end" do
      server = puma
      server.await_log(MEMBER)
      pids = family(server)
      server.signal(:KILL)
      server.await_end
      await_ends(server, pids)

      assert_equal 2, pids.size
      assert_match(/stopped: all groups are left/, server.log)
    end

    test "[Puma plugin] a second Ctrl-C shortens the wait for a running job, as the terminal sends it to all of them" do
      server = puma(8, pgroup: true)
      server.await_log(MEMBER)
      order("stubborn")
      await_journal(server, "begin stubborn")
      pids = family(server)
      server.signal(:INT, -server.pid)
      server.await_log(/stopping: running jobs may finish within shutdown_timeout/)
      refute server.ended?

      server.signal(:INT, -server.pid)
      server.code(40)
      await_ends(server, pids)
      assert_equal 1, server.log.scan("received SIGINT").size
      assert_includes server.log, "could not stop in time"
    end

    test "[Puma plugin] during a phased restart the consumers continue" do
      server = puma(8, "-w", "1")
      server.await_log(MEMBER)
      before = family(server)
      server.signal(:USR1)
      server.await_log(/Worker 0 .* booted/, 2)
      order("later")
      await_journal(server, "end later")

      assert_equal before, family(server)
    end

    test "[Puma plugin] where a broker listens, none is started" do
      @address = self.class.cluster.bootstrap_servers
      server = puma
      server.await_log(/running \(pid/)
      order("theirs")
      await_journal(server, "end theirs")

      assert_equal 1, family(server).size
      refute_match BROKER, server.log
    end

    test "[Puma plugin] the error of a broken boot file is shown in Puma's terminal, and requests are served" do
      server = puma(application: <<~RUBY)
        require "penstock"
        class PumaApp < Penstock::App
          setup { |config| config.client = 1 }
        end
      RUBY
      server.await_log(/the server of the consumers has ended with code 1/)

      assert_match(/penstock: .*config\.client/m, server.log)
      assert_includes server.log, "bin/rails restart"
      assert_serves(server)
    end

    test "[Puma plugin] a broker that can't start is reported with its address and reason" do
      taken = Socket.new(:INET, :STREAM)
      taken.bind(Addrinfo.tcp("127.0.0.1", 0)) # taken, but nobody listens
      @address = "127.0.0.1:#{taken.local_address.ip_port}"
      server = puma
      server.await_log(/has ended with code 1/)

      assert_match(/penstock: no broker listens at #{@address}, and none could be started there: port \d+ can't be used/,
        server.log)
      assert_serves(server)
    ensure
      taken&.close
    end

    test "[Puma plugin] outside of development it does nothing" do
      server = puma(environment: "production")
      server.await_log(/Use Ctrl-C/)
      assert_serves(server)

      assert_empty File.read("/proc/#{server.pid}/task/#{server.pid}/children")
      server.signal(:TERM)
      assert_equal 0, server.code
      refute_match(/penstock/, server.log.gsub(@dir, ""))
    end

    test "[Puma plugin] its command refuses to run in production" do
      write("penstock.rb", APPLICATION)
      result = penstock("development", env: {"RAILS_ENV" => "production", "ADDRESS" => @address, "PENSTOCK_ROOT_DIR" => @dir})

      assert_equal 1, result.code
      assert_includes result.err, "development: not in production"
    end
  end
end
