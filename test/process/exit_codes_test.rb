# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/exit_codes"
require "penstock/producer"
require "penstock/server/exit_codes"
require "support/embedded_broker"
require "support/ruby_program"
require "support/served"

module Penstock
  # The table of exit codes, row by row, by real processes.
  class ExitCodesTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    # @return [Array<Integer>] first cells of the table of codes
    def self.rows(page)
      File.read(File.join(ROOT, page))[/^\| code \| meaning \|\n\|.*?\n(.*?)^$/m, 1].scan(/^\| (\d+)/).flatten.map(&:to_i)
    end

    class << self
      attr_reader :tested

      # A test of one row.
      def code(number, rule, &)
        (@tested ||= []) << number
        test("#{number}: #{rule}", &)
      end
    end

    test "every exit code is in the table, and is tested here" do
      ours = Server::ExitCodes.constants.map { |name| Server::ExitCodes.const_get(name) }
      theirs = CLI::ExitCodes::MEANINGS.keys

      assert_equal theirs.sort, self.class.rows("docs/operations.md").sort
      assert_empty ours - theirs
      assert_equal theirs.sort, self.class.tested.uniq.sort
    end

    code(0, "stopped in order, also by an error that stops the process") do
      produce("critical")
      server = serve("server")

      assert_equal 0, server.code, server.tail
      assert_match(/SystemExit/, server.log)
    end

    code(1, "wrong usage, boot file or settings") do
      wrong = [serve("server", "--no-such-option"), serve("server", env: {"PENSTOCK_BOOT_FILE" => "none.rb"}),
        serve("server", env: {"MORE" => "PenstockApp.setup { |config| config.client_id = nil }"}),
        serve("swarm", env: {"MORE" => "PenstockApp.setup { |config| config.client_id = nil }"})]

      assert_equal [1, 1, 1, 1], wrong.map(&:code), wrong.map(&:tail).join
    end

    code(2, "the stop's time is up while a job runs") do
      produce("stubborn")
      server = serve("server", env: {"SHUTDOWN_TIMEOUT" => 2_000})
      server.await_log("begin stubborn")
      server.signal(:TERM)

      assert_equal 2, server.code, server.tail
      assert_match(%r{1 jobs still ran: #{@topic}/0 offsets 0\.\.0}, server.log)
    end

    # To learn how orphans end, a process has to adopt them: PR_SET_CHILD_SUBREAPER.
    ADOPTING = <<~'RUBY'
      require "fiddle"
      prctl = Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], [Fiddle::TYPE_INT, *[Fiddle::TYPE_LONG] * 4], Fiddle::TYPE_INT)
      prctl.call(36, 1, 0, 0, 0).zero? or abort "no subreaper"
      supervisor = spawn(*ARGV)
      Signal.trap("USR1") { Process.kill(:KILL, supervisor) }
      codes = []
      begin
        loop { codes << Process.wait2 }
      rescue Errno::ECHILD
        puts codes.map { |pid, status| "#{pid == supervisor ? "supervisor" : "node"} #{status.exitstatus || status.termsig}" }.sort
      end
    RUBY

    code(3, "a node whose supervisor has ended") do
      produce("stubborn")
      swarm = serve("swarm", "--nodes", "2", before: [RbConfig.ruby, "-e", ADOPTING])
      swarm.await_log("begin stubborn", 2)
      swarm.signal(:USR1)

      assert_equal 0, swarm.code, swarm.tail
      assert_equal ["node 3", "node 3", "supervisor 9"], swarm.log.lines(chomp: true).grep(/\A(?:node|supervisor) \d+\z/)
    end

    code(4, "a swarm whose nodes die at boot") do
      swarm = serve("swarm", env: {"MORE" => <<~RUBY})
        PenstockApp.monitor.subscribe("swarm.node.after_fork") { exit!(9) }
        PenstockApp.setup { |config| config.swarm.restart_backoff = config.swarm.restart_backoff_max = 50 }
      RUBY

      assert_equal 4, swarm.code, swarm.tail
    end

    code(70, "a poll loop that fails while it stops") do
      produce("held")
      server = serve("server", env: {"PENSTOCK_FAULTS" => "before_commit=raise"})
      server.await_log("begin held")
      server.signal(:TERM)
      server.await_log(/ stopping: /)
      release

      assert_equal 70, server.code, server.tail
      assert_match(/fault injected at before_commit/, server.log)
    end

    code(130, "Ctrl-C in a command that ends by itself") do
      produce = serve("produce", @topic, "x", "--bootstrap", "127.0.0.1:1", env: {"PENSTOCK_BOOT_FILE" => nil})
      produce.await("its client") do
        Dir["/proc/#{produce.pid}/task/*/comm"].any? { |path| File.read(path).start_with?("rdk:main") }
      end
      produce.signal(:INT)

      assert_equal 130, produce.code, produce.tail
    end
  end
end
