# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/admin"
require "support/embedded_broker"
require "support/served"

module Penstock
  # The application inside Puma, single and with workers, configured as the page on operations shows.
  class PumaTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    # A job runs until the application stops: a stop that loses it, or doesn't wait for it, is seen.
    APPLICATION = <<~'RUBY'
      require "json"
      require "penstock"
      STOPPING = Thread::Queue.new
      class Work < Penstock::BaseConsumer
        def consume
          messages.each do |message|
            write "begin #{message.raw_payload}"
            STOPPING.pop
            write "end #{message.raw_payload}"
          end
        end

        def write(text) = File.write(ENV.fetch("JOURNAL"), "#{text}\n", mode: "a")
      end
      class PumaApp < Penstock::App
        setup do |config|
          config.client_id = "puma"
          config.group_id = ENV.fetch("TOPIC")
          config.kafka = JSON.parse(ENV.fetch("KAFKA"), symbolize_names: true)
          config.max_messages = 1
        end
        routes.draw { topic(ENV.fetch("TOPIC")) { consumer Work } }
        monitor.subscribe("app.stopping") { STOPPING.close }
      end
    RUBY
    # Loads the boot file, as an application of Rails does: after the hooks of workers.
    RACKUP = <<~RUBY
      require_relative "penstock"
      run ->(_env) { [200, {}, ["ok"]] }
    RUBY
    # The rest of Puma's configuration.
    SERVER = <<~RUBY
      environment "production"
      threads 1, 1
      bind "tcp://127.0.0.1:0"
      raise_exception_on_sigterm false
    RUBY
    PAGE = File.read(File.join(TestSupport::CommandLine::ROOT, "docs/operations.md"))
    # Without it a stopped worker hangs now and then.
    PIPE = PAGE[/^Puma::Server\.prepend.*?^end\)$/m]
    # Names that Puma 7 has replaced.
    OLD = PAGE.scan(/^\| `((?:after|before)_\w+)` \| `(on_\w+)` \|/).to_h.freeze

    # @return [String] the page's example, with the names of this version
    def self.example(mode, version)
      code = PAGE[/^# config\/puma\.rb, #{mode}\b.*?(?=^```)/m]
      (version < 7) ? code.gsub(Regexp.union(OLD.keys), OLD) : code
    end

    def puma(mode, version)
      locked = File.join(ROOT, "test/gemfiles/puma_#{version}.gemfile.lock")
      skip "Puma #{version} is not installed: bin/setup prints why" unless File.exist?(locked)
      write("penstock.rb", APPLICATION)
      write("config.ru", RACKUP)
      FileUtils.mkdir_p(File.join(@dir, "config"))
      write("config/puma.rb", [SERVER, PIPE, self.class.example(mode, version)].join("\n"))
      gems = {"BUNDLE_GEMFILE" => File.join(ROOT, "test/gemfiles/puma_#{version}.gemfile"),
              "BUNDLE_PATH" => File.join(ROOT, "vendor/bundle"), "PWD" => @dir}
      env = CLEAN.merge("TOPIC" => @topic, "KAFKA" => JSON.generate(cluster.kafka), **gems, **journal)
      command = [RbConfig.ruby, "-S", "bundle", "exec", "puma", "-C", "config/puma.rb"]
      started(TestSupport::Served::Process.new(command, dir: @dir, env: env))
    end

    def await_journal(server, line)
      server.await("#{line} in the journal", 60) { server.journal.include?("#{line}\n") }
    end

    def committed
      Admin.open(cluster.kafka) { |admin| admin.read_lags_with_offsets({@topic => [@topic]}) }.dig(@topic, @topic, 0, :offset)
    end

    # Otherwise a worker that joins late takes the partition while the job runs, and runs it again.
    # @return [Boolean] whether each of the last workers has one partition
    def settled?(server, workers)
      server.log.scan(/Worker \d \(PID: (\d+)\) booted/).last(workers).flatten.all? do |pid|
        server.log.scan(/##{pid}\] .*(?:assigned|keeps) #{@topic} (.+)$/).last.to_a.first.to_s.match?(/\A\d\z/)
      end
    end

    # Each signal finds a running job, which ends; the next process continues after it.
    #
    # @param booted [Regexp] what Puma logs when a process handles signals
    # @param processes [Integer] that log it
    def assert_nothing_lost(server, booted, processes, *signals)
      expected = signals.each_with_index.flat_map do |signal, index|
        server.await_log(booted, processes * (index + 1))
        server.await("a partition of each worker") { settled?(server, processes) } if processes > 1
        produce(signal.to_s)
        await_journal(server, "begin #{signal}")
        server.signal(signal)
        await_journal(server, "end #{signal}")
        ["begin #{signal}", "end #{signal}"]
      end

      assert_equal 0, server.code(60), server.tail
      assert_equal expected, server.journal.lines(chomp: true)
      assert_equal signals.size, committed
    end

    [6, 7, 8].each do |version|
      test "[embedded in Puma] Puma #{version}, single: a restart and a stop wait for the running job, and lose nothing" do
        assert_nothing_lost(puma("single", version), /Use Ctrl-C/, 1, :USR2, :TERM)
      end

      test "[embedded in Puma] Puma #{version}, with workers: so do a phased restart, a restart and a stop" do
        assert_nothing_lost(puma("cluster", version), /Worker \d .* booted/, 2, :USR1, :USR2, :TERM)
      end
    end

    test "the page names the hooks of all versions" do
      assert_equal %w[after_booted after_stopped before_restart before_worker_boot before_worker_shutdown], OLD.keys.sort
    end
  end
end
