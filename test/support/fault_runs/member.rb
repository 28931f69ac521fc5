# frozen_string_literal: true

require "json"
require_relative "../cluster/known_process"
require_relative "../ruby_program"
require_relative "../wait"
require_relative "journal"

module Penstock
  module TestSupport
    module FaultRuns
      # A process of a fault run and the processes that it forks: a server, a swarm, a producer. The run starts and ends
      # it; it is identified by number and start time. Every signal is recorded in the run's {Chronicle} first, so that
      # an end that nobody ordered can be distinguished from the others.
      class Member
        include Wait

        PROGRAMS = File.join(__dir__, "programs")
        MARK = "PENSTOCK_TEST_MEMBER"
        # The environment of the test run must not influence a scenario.
        CLEAN = ENV.keys.grep(/\APENSTOCK_/).to_h { |name| [name, nil] }.freeze
        # Memory of old objects that are garbage is freed after 4 MB of them, instead of Ruby's 16 to 128 MB, which a process with
        # little work needs half an hour for: what still grows after some minutes is a leak.
        COLLECT_EARLY = {"RUBY_GC_OLDMALLOC_LIMIT" => "4000000", "RUBY_GC_OLDMALLOC_LIMIT_MAX" => "4000000"}.freeze
        # Lines that librdkafka and Ruby leave in the log of a process that crashes.
        CRASHES = /\[BUG\]|Assertion| assert: |SIGABRT|SIGSEGV|Segmentation fault|double free|corrupted|stack smashing/

        # @return [Array<String>] endings that are allowed in addition to "exit 0"
        attr_reader :expected_ends
        attr_reader :name, :plan, :pid, :log_path, :status, :started_at, :ended_at

        # @param name [String]
        # @param program [String] of PROGRAMS
        # @param plan [Hash]
        # @param folder [String]
        # @param chronicle [Chronicle]
        def initialize(name, program:, plan:, folder:, chronicle:, env: {})
          @name = name
          @plan = plan
          @chronicle = chronicle
          @expected_ends = ["exit 0"]
          @log_path = File.join(folder, "#{name}.log")
          @mark = "#{folder}/#{name}/#{Journal.now}"
          @input, @cord = IO.pipe
          env = {**CLEAN, **COLLECT_EARLY, **env, MARK => @mark, "PENSTOCK_PLAN" => JSON.generate(plan)}
          @started_at = Journal.now
          @pid = ::Process.spawn(env, *RubyProgram.command(File.join(PROGRAMS, program)), :in => @input, :pgroup => true,
            %i[out err] => [@log_path, "a"])
          @input.close
          @process = KnownProcess.new(@pid)
        end

        def alive?
          reap
          @status.nil?
        end

        # @param pid [Integer] its own, or one of {#descendants}
        def signal(name, pid = @pid)
          @chronicle.signal(pid, name)
          may_end("exit 2") if @stopping && name == "KILL" && pid != @pid # a node that is killed doesn't stop in order
          ::Process.kill(name, pid)
          true
        rescue Errno::ESRCH
          false
        end

        # kill -9; returns when it has ended.
        def kill
          # The processes that it has forked end with it; their journals need the time.
          descendants.each { |process| @chronicle.signal(process.pid, "KILL") }
          signal("KILL")
          await_end(20)
        end

        # Stops it in order. When the time is up it is killed, and then its ending isn't "exit 0".
        # @return [Numeric] seconds it took
        def stop(seconds = 40)
          began = Journal.now
          @stopping = true
          signal("CONT")
          signal("TERM")
          await_end(seconds)
          (Journal.now - began) / 1e6
        rescue TimeoutError
          @late = true
          kill
          seconds
        end

        def await_end(seconds)
          wait_until(seconds, "the end of #{name}", state: -> { tail }, every: 0.02) { !alive? }
          @status
        end

        # @param ending [String] as {#ending} returns it
        def may_end(ending) = @expected_ends << ending

        # Closes its standard input, which makes a producer finish.
        def hang_up = @cord.close

        # @return [Array<KnownProcess>] its children and their descendants
        def descendants = KnownProcess.marked("#{MARK}=#{@mark}").reject { |process| process.pid == @pid }

        # @return [Array<Integer>] processes of a swarm's nodes
        def nodes
          log.scan(/node (\d+): forked \(pid (\d+)\)/).to_h.values.map { |pid| Integer(pid) }
            .select { |pid| KnownProcess.started_at(pid) }
        end

        # Whether its program had begun: before that, a signal ends it like any Ruby.
        def begun? = Dir[File.join(File.dirname(@log_path), "*-#{@pid}.journal")].any?

        # Whether it has had partitions.
        def assigned? = @assigned ||= log.include?(": assigned ")

        # @return [String, nil] how it ended: "exit 0", "signal KILL"; nil: it runs
        def ending
          return "late" if @late
          return if alive?
          @status.signaled? ? "signal #{Signal.signame(@status.termsig)}" : "exit #{@status.exitstatus}"
        end

        # @return [Array<String>] lines of its log that indicate a crash
        def crashes = log.lines.grep(CRASHES)

        def log = File.exist?(@log_path) ? File.read(@log_path).scrub : ""
        def tail(lines = 20) = log.lines.last(lines).join

        # @return [Hash{Symbol => Integer}, nil] resident bytes, descriptors and threads
        def usage(pid = @pid)
          {rss: KnownProcess.new(pid).rss, fds: Dir.children("/proc/#{pid}/fd").size,
           threads: Dir.children("/proc/#{pid}/task").size, names: thread_names(pid)}
        rescue SystemCallError
          nil
        end

        # Ends all remaining processes of the member.
        # @return [Array<Integer>] processes that remained although the member itself had ended
        def close
          hang_up
          left = alive? ? [] : descendants.map(&:pid)
          signal("KILL") if alive?
          await_end(20)
          wait_until(20, "the end of what #{name} has forked") { descendants.each { |process| process.signal(:KILL) }.empty? }
          left
        end

        private

        # @return [Hash{String => Integer}] how many threads have each name
        def thread_names(pid) = Dir["/proc/#{pid}/task/*/comm"].map { |path| File.read(path).chomp }.tally

        def reap
          @status ||= ::Process.wait2(@pid, ::Process::WNOHANG)&.last&.tap { @ended_at = Journal.now }
        end
      end
    end
  end
end
