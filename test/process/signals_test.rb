# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/producer"
require "support/embedded_broker"
require "support/served"

module Penstock
  # The tables of signals, row by row: a real process does what each page documents.
  class SignalsTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    # @return [Array<String>] first cells of the table of signals
    def self.rows(page)
      File.read(File.join(ROOT, page))[/^\| signal \| effect \|\n\|.*?\n(.*?)^$/m, 1].scan(/^\| (.*?) \|/).flatten
    end

    # A test of rows, which its name contains.
    def self.row(of, *cells, rule, &)
      (@tested ||= []).concat(cells.map { |cell| [of, cell] })
      test("#{of} #{cells.join("; ")}: #{rule}", &)
    end

    class << self
      attr_reader :tested
    end

    test "every row of the tables is tested here, and the pages agree" do
      rows = {"server" => "docs/operations.md", "swarm" => "docs/swarm.md"}.flat_map do |of, page|
        self.class.rows(page).map { |cell| [of, cell] }
      end
      assert_equal rows.sort, self.class.tested.sort
      short = self.class.rows("docs/command_line.md").flat_map { |cell| cell.split(", ") }
      assert_empty short - self.class.rows("docs/operations.md").flat_map { |cell| cell.split(", ") }
    end

    def server(...) = serve("server", ...)
    def running(process, count = 1) = process.await_log(/ running \(pid/, count)

    # One per signal, all at the same time, each with a running job.
    def stopped_by(*names)
      produce("held")
      servers = names.to_h { |name| [name, server] }
      servers.each_value { |process| process.await_log("begin held") }
      servers.each { |name, process| process.signal(name) }
      servers.each { |name, process| process.await_log(/received SIG#{name}.*stopping: /m) }
      release
      servers.each do |name, process|
        assert_equal 0, process.code, "#{name}: #{process.tail}"
        assert_match(/end held.*shutdown hook/m, process.log)
      end
    end

    row "server", "TERM, INT, QUIT", "what runs ends, hooks run, the code is 0" do
      stopped_by(:TERM, :INT, :QUIT)
    end

    row "server", "HUP", "as TERM; ignored where it was at the start" do
      ignoring = server(before: ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"])
      stopped_by(:HUP)
      running(ignoring)
      ignoring.signal(:HUP)
      ignoring.signal(:TTIN)
      ignoring.await_log(/received SIGTTIN/)
      ignoring.signal(:TERM)

      assert_equal 0, ignoring.code
      refute_match(/received SIGHUP/, ignoring.log)
    end

    test "a second TERM leaves 5 s, a third ends at once: both with code 2" do
      produce("stubborn")
      second, third = Array.new(2) { server }
      [second, third].each { |process| process.await_log("begin stubborn") }
      third.signal(:TERM)
      third.await_log(/received SIGTERM/)
      2.times { |count| third.signal(:TERM) && (count.zero? ? third.await_log(/received SIGTERM/, 2) : nil) }
      second.signal(:TERM)
      second.await_log(/received SIGTERM/)
      second.signal(:TERM)

      assert_equal [2, 2], [third, second].map(&:code)
      assert_match(/shutdown_timeout was too short: 1 jobs still ran/, second.log)
    end

    # The process that loaded the boot file, not its nodes.
    AT_EXIT = {"MORE" => <<~RUBY}.freeze
      boot = Process.pid
      at_exit do
        if Process.pid == boot
          puts "at_exit begins"
          IO.select(nil, nil, nil, 0.01) until File.exist?("release")
          puts "at_exit ends"
        end
      end
    RUBY

    test "while at_exit blocks run, a second stop signal does nothing, and a third ends the process at once with code 2" do
      commands = [["server"], ["swarm", "--nodes", "1"]]
      second, third = Array.new(2) { commands.map { |command| serve(*command, env: AT_EXIT) } }
      all = [*second, *third].each { |process| running(process) }
      all.each { |process| process.signal(:TERM) }
      all.each { |process| process.await_log("at_exit begins") }
      all.each { |process| process.signal(:INT) }
      third.each { |process| process.signal(:QUIT) }

      assert_equal [2, 2], third.map(&:code), third.map(&:tail).join
      release
      assert_equal [0, 0], second.map(&:code), second.map(&:tail).join
      second.each { |process| assert_match(/at_exit ends/, process.log) }
      third.each { |process| refute_match(/at_exit ends/, process.log) }
    end

    row "server", "TTIN", "TSTP", "a dump, and it continues; running units end, hooks run, nothing new is taken, until TERM" do
      server = server()
      server.await_log(": assigned")
      server.signal(:TTIN)
      server.await_log(/received SIGTTIN.*main \(.*penstock g\d+_default_0 \(.*in_flight/m)
      produce("held")
      server.await_log("begin held")
      server.signal(:TSTP)
      server.await_log(/ quieting: /)
      release
      server.await_log(/end held.*shutdown hook/m)
      produce("later", partition: 1)
      observe_for(0.3) { refute server.ended? }
      server.signal(:TERM)

      assert_equal 0, server.code, server.tail
      refute_match(/begin later/, server.log)
    end

    row "server", "USR1, USR2", "Ruby's own: the end" do
      servers = %w[USR1 USR2].to_h { |name| [name, server] }
      servers.each_value { |process| running(process) }
      servers.each { |name, process| process.signal(name) }

      assert_equal(%w[USR1 USR2], servers.values.map { |process| Signal.signame(process.await_end.termsig) })
    end

    # Between its boot and its handlers.
    def initialized(*names)
      {"MORE" => "PenstockApp.monitor.subscribe('app.initialized') { #{names}.each { |name| ::Process.kill(name, $$) } }"}
    end

    test "signals before the application has handlers: a stop is a clean end, TSTP takes effect once it runs" do
      stopped = %w[TERM HUP].map { |name| server(env: initialized(name)) }
      resting = server(env: initialized("TSTP"))
      swarm = serve("swarm", "--nodes", "2", env: initialized("HUP", "USR1", "USR2"))

      assert_equal [0, 0], stopped.map(&:code), stopped.map(&:tail).join
      stopped.each { |process| refute_match(/ running \(pid/, process.log) }
      resting.await_log(/ quieting: /)
      running(swarm, 2)
      [resting, swarm].each { |process| process.signal(:TERM) }
      assert_equal [0, 0], [resting, swarm].map(&:code), [resting, swarm].map(&:tail).join
    end

    # A file that is loaded before the command's, and rescues every Exception while it sends a signal.
    SWALLOWING = <<~RUBY
      module Swallowing
        def require(path)
          return super unless path == "penstock/cli/commands"
          begin
            ::Process.kill(:TERM, $$)
            1_000_000.times { Thread.pass }
          rescue Exception
            warn "swallowed"
          end
          super
        end
      end
      Object.prepend(Swallowing)
    RUBY

    test "a TERM while the command's own code is loaded ends the process, also if that code rescues every Exception" do
      Dir.mktmpdir do |folder|
        File.write(path = File.join(folder, "swallowing.rb"), SWALLOWING)
        process = server(env: {"RUBYOPT" => "#{ENV["RUBYOPT"]} -r#{path}"})

        assert_equal "TERM", Signal.signame(process.await_end.termsig), process.log
        refute_match(/swallowed/, process.log)
      end
    end

    test "an interrupt while the command's own code is loaded ends the process without a backtrace" do
      Dir.mktmpdir do |folder|
        File.write(path = File.join(folder, "swallowing.rb"), SWALLOWING.sub(":TERM", ":INT"))
        process = server(env: {"RUBYOPT" => "#{ENV["RUBYOPT"]} -r#{path}"})

        assert_equal "INT", Signal.signame(process.await_end.termsig), process.log
        refute_match(/swallowed|Interrupt/, process.log)
      end
    end

    # --- a swarm's

    def swarm(...)
      serve("swarm", "--nodes", "2", ...).tap { |process| running(process, 2) }
    end

    row "swarm", "TERM, INT, QUIT", "all nodes stop in parallel, the code is 0" do
      swarms = %i[TERM INT QUIT].to_h { |name| [name, serve("swarm", "--nodes", "2")] }
      swarms.each_value { |process| running(process, 2) }
      swarms.each { |name, process| process.signal(name) }
      swarms.each do |name, process|
        assert_equal 0, process.code, "#{name}: #{process.tail}"
        assert_equal 2, process.log.scan(/node \d.*ended/).size
      end
    end

    row "swarm", "USR2, and HUP where there is no terminal", "all nodes are replaced, one after another" do
      swarm = swarm()
      {USR2: 4, HUP: 6}.each do |name, forks|
        swarm.signal(name)
        swarm.await_log(/: forked \(pid/, forks)
        running(swarm, forks)
      end
      swarm.signal(:TERM)

      assert_equal 0, swarm.code, swarm.tail
      assert_equal %w[0 1 0 1], swarm.log.scan(/node (\d) .*asked to stop \(a rolling restart/).flatten
    end

    row "swarm", "TTIN", "TSTP", "USR1", "all write their threads' stacks; no node takes new work; nothing" do
      swarm = swarm()
      swarm.signal(:USR1)
      swarm.signal(:TTIN)
      swarm.await_log(/main \(/, 3)
      swarm.signal(:TSTP)
      swarm.await_log(/ quieting: /, 3)
      produce("later")
      observe_for(0.3) { refute swarm.ended? }
      swarm.signal(:TERM)

      assert_equal 0, swarm.code, swarm.tail
      refute_match(/begin later/, swarm.log)
    end
  end
end
