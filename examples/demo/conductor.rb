# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"
require_relative "bar"
require_relative "broker"
require_relative "child"
require_relative "journal"
require_relative "tamper"
require_relative "../../lib/penstock/testing/client_settings"

module Demo
  # Runs the demo from one thread: starts the processes, draws the bar, kills one process half-way, starts another,
  # stops all, and lets report.rb compute the table. It waits only for pipes of the children, with a time limit. Ctrl-C
  # arrives as Interrupt; however {run} ends, the children are stopped by their pids and the folder is removed.
  class Conductor
    ROOT = File.expand_path("../..", __dir__)
    BOOT_FILE = File.expand_path("penstock.rb", __dir__)
    CLUSTER_FILE = File.expand_path("cluster.rb", __dir__)
    PENSTOCK = [RbConfig.ruby, File.join(ROOT, "exe/penstock")].freeze
    COMMIT_INTERVAL_MS = 500
    # 6 s is the minimum a broker allows by default. The embedded broker has no such limit.
    SESSION_MS = {broker: 6_000, embedded: Penstock::Testing::ClientSettings::SESSION_TIMEOUT_MS}.freeze
    STOP_LIMIT_S = 30
    CLEANUP_LIMIT_S = 3

    class Failed < StandardError; end

    # @param options [Options]
    # @param out [IO] for the bar and everything else except the table
    def initialize(options, out)
      @options = options
      @out = out
      @bar = Bar.new(out, options.count)
      @children = []
      @consumers = 0
      @topic = "demo_orders_#{::Process.pid}_#{::Process.clock_gettime(::Process::CLOCK_REALTIME, :second)}"
    end

    # @return [Integer] exit code
    def run
      @folder = Dir.mktmpdir("penstock-demo-")
      @journal = Journal.new(path("demo.journal"))
      @journal.write("run", @options.count, COMMIT_INTERVAL_MS)
      conduct
      stop_all
      @journal.close
      report
    ensure
      clean_up
    end

    private

    def conduct
      @deadline = now + @options.limit_s
      prepare_broker
      @options.processes.times { start_consumer }
      wait_for_assignment
      start_producer
      wait_until_processed
    end

    def prepare_broker
      if @options.embedded?
        @broker = Broker.new(PENSTOCK, topic: @topic, partitions: @options.partitions, log: path("broker.log"))
        @bootstrap = @broker.bootstrap
        @bar.say("Embedded broker on #{@bootstrap} (pid #{@broker.pid}); topic #{@topic}, " \
          "#{@options.partitions} partitions.")
      else
        @bootstrap = @options.bootstrap
        topics("create", @topic, "--partitions", @options.partitions.to_s, "--replication-factor", @options.replicas.to_s)
        @topic_made = true
        @bar.say("Broker #{@bootstrap}; topic #{@topic} created, #{@options.partitions} partitions.")
      end
    end

    def topics(*arguments)
      env = {"PENSTOCK_BOOT_FILE" => CLUSTER_FILE, "DEMO_KAFKA" => kafka}
      done = system(env, *PENSTOCK, "topics", *arguments, %i[out err] => [path("topics.log"), "a"])
      raise Failed, "penstock topics #{arguments.first} failed:\n#{File.read(path("topics.log"))}" unless done
    end

    # Passed in the environment, which other users of the machine can't see, unlike a command line.
    def kafka
      JSON.generate(@options.kafka.merge("bootstrap.servers" => @bootstrap))
    end

    def start_consumer
      name = "consumer-#{@consumers += 1}"
      child = start(name, [*PENSTOCK, "server"], "PENSTOCK_BOOT_FILE" => BOOT_FILE,
        "DEMO_THREADS" => @options.threads.to_s, "DEMO_WORK_MS" => @options.work_ms.to_s)
      @bar.say("Started #{name} (pid #{child.pid}), #{@options.threads} threads.")
      child
    end

    def start_producer
      @producer = start("producer-1", [RbConfig.ruby, "-I", File.join(ROOT, "lib"), File.join(__dir__, "producer.rb")],
        "DEMO_COUNT" => @options.count.to_s, "DEMO_CUSTOMERS" => @options.customers.to_s,
        "DEMO_RATE" => @options.rate.to_s)
    end

    def start(name, command, env)
      env = env.merge("DEMO_KAFKA" => kafka, "DEMO_TOPIC" => @topic, "DEMO_GROUP" => @topic,
        "DEMO_JOURNAL" => path("#{name}.journal"), "DEMO_EMBEDDED" => @options.embedded? ? "1" : nil,
        "DEMO_COMMIT_INTERVAL_MS" => COMMIT_INTERVAL_MS.to_s,
        "DEMO_SESSION_MS" => SESSION_MS.fetch(@options.embedded? ? :embedded : :broker).to_s)
      Child.new(name, command, env: env, log: path("#{name}.log")).tap { |child| @children << child }
    end

    # The orders' latency should measure processing, not the start: nothing is sent before each process has its
    # share of the partitions.
    def wait_for_assignment
      step("all partitions to be assigned") until assigned?
      @bar.say("All partitions are assigned; producing #{@options.count} orders of #{@options.customers} customers.")
    end

    def assigned?
      owners = consumers.count { |child| child.assigned.positive? }
      consumers.sum(&:assigned) == @options.partitions && owners == [@options.processes, @options.partitions].min
    end

    def wait_until_processed
      until processed >= @options.count
        step("all orders to be processed (#{processed} of #{@options.count} are)")
        # A consumer may report an order slightly earlier than the producer does.
        @bar.show(produced: [@producer.done, processed].max, processed: processed, in_flight: consumers.sum(&:in_flight))
        kill_one if kill_due?
      end
      # A server that still boots can't stop in order yet.
      step("every server to run") until consumers.all?(&:serving?)
      @bar.finish
    end

    # One turn: waits until a child reports progress, at most until the bar is due.
    def step(awaited)
      raise Failed, "waited #{@options.limit_s} s for #{awaited}; a higher --limit waits longer" if now > @deadline

      pipes = @children.select(&:running?).to_h { |child| [child.pipe, child] }
      ready, = IO.select(pipes.keys, nil, nil, @bar.interval_s)
      Array(ready).each { |pipe| pipes[pipe].read_progress }
      check_children
    end

    def check_children
      fallen = @children.find { |child| !child.running? && child != @killed && !(child == @producer && child.exit_code.zero?) }
      return unless fallen

      # The line above a backtrace is more useful here than the backtrace.
      log = File.readlines(path("#{fallen.name}.log")).grep_v(/\A\s+from /).last(12).join
      raise Failed, "#{fallen.name} ended with exit code #{fallen.exit_code}. The end of its log:\n#{log}"
    end

    # Half-way, and while orders are in flight, so that the kill interrupts some.
    def kill_due?
      return false unless @options.kill && !@killed

      share = processed.fdiv(@options.count)
      share >= 0.5 || (share >= 0.4 && consumers.first.in_flight.positive?)
    end

    # Without a warning, like a failing machine: no hand-over, no last commit.
    def kill_one
      @killed = consumers.first
      @killed.kill(:KILL)
      @journal.write("killed", @killed.name, Journal.now_ns)
      @killed.reap
      @bar.say("Killed #{@killed.name} (pid #{@killed.pid}) by kill -9 with #{@killed.in_flight} orders in flight.")
      start_consumer
    end

    # Counts each order once: the highest offset of any process in each partition.
    def processed
      owners = @children - [@producer]
      owners.map(&:next_offsets).reduce({}) { |all, offsets| all.merge(offsets) { |_, a, b| [a, b].max } }.values.sum
    end

    def consumers
      @children.select { |child| child.running? && child != @producer }
    end

    def stop_all
      @children.select(&:running?).each { |child| child.kill(:TERM) unless child == @producer }
      @children.each do |child|
        next if child == @killed

        child.stop(STOP_LIMIT_S)
        @journal.write("exited", child.name, child.exit_code)
      end
    end

    def report
      if @options.tamper
        @bar.say("Dropped one line, as asked: #{Tamper.new(@folder).drop_one}")
      end
      @out.puts
      reading = ::Process.spawn(RbConfig.ruby, File.join(__dir__, "report.rb"), @folder, *("--json" if @options.json))
      _, status = ::Process.wait2(reading)
      @evidence = !status.success? && !@options.tamper
      status.exitstatus || 1
    end

    def clean_up
      Signal.trap("INT", "IGNORE") # a second Ctrl-C would leave children running; everything here has a time limit
      @children.each { |child| child.kill(:TERM) }
      @children.each { |child| child.stop(CLEANUP_LIMIT_S) }
      topics("delete", @topic, "--yes") if @topic_made
      @broker&.stop
    rescue Failed => error
      @out.puts(error.message)
    ensure
      remove_folder if @folder
    end

    def remove_folder
      return FileUtils.remove_entry(@folder) unless @options.keep || @evidence

      @out.puts("Journals and logs are in #{@folder}")
    end

    def path(name)
      File.join(@folder, name)
    end

    def now
      ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    end
  end
end
