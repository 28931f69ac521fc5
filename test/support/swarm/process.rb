# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"
require_relative "../wait"

module Penstock
  module TestSupport
    module SwarmRun
      # A swarm in processes of its own, all of which have a marker in their environment: remaining processes are found
      # by that, never by name. Ends only what it started.
      class Process
        include Wait

        PROGRAM = File.expand_path("program.rb", __dir__)

        # A file that is closed between the two looks isn't open.
        # @return [Array<String>] the open files of a process, as the kernel names them
        def self.open_files(pid)
          Dir.glob("/proc/#{pid}/fd/*").filter_map do |path|
            File.readlink(path)
          rescue Errno::ENOENT
            nil
          end
        end

        # @return [Integer] of the supervisor
        attr_reader :pid

        # @return [String, nil] a folder of its own, removed with it
        attr_accessor :dir

        # @param plan [Hash] what program.rb is to do
        # @param env [Hash{String => String}]
        # @param program [String]
        def initialize(plan, env: {}, program: PROGRAM)
          @own = Dir.mktmpdir("penstock-swarm")
          @mark = "#{::Process.pid}-#{rand(1 << 60)}"
          @log, @journal = File.join(@own, "log"), plan.fetch(:journal, File.join(@own, "journal"))
          plan = {**plan, journal: @journal}
          # Its other end closes with this process, however it ends: an aborted run leaves no swarm.
          input, @cord = IO.pipe
          @pid = ::Process.spawn({"PENSTOCK_SWARM_TEST" => JSON.generate(plan), "PENSTOCK_MARK" => @mark,
                                   **CheckedEvents::ENVIRONMENT, **env}, RbConfig.ruby,
            *$LOAD_PATH.first(6).map { |path| "-I#{path}" }, program, %i[out err] => [@log, "a"], :pgroup => true, :in => input)
        ensure
          input&.close
        end

        # Read while it is written: its last line, and the last character of that, may be incomplete.
        def log = File.exist?(@log) ? File.read(@log).scrub : ""

        # @return [Array<Array<String>>] what consumers and listeners wrote, complete lines only
        def journal = File.exist?(@journal) ? File.read(@journal).scrub.lines.grep(/\n\z/).map(&:split) : []

        # @return [Array<Integer>] process ids of a node, the living one last
        def pids_of(node) = log.scan(/node #{node}: forked \(pid (\d+)\)/).map { |(pid)| Integer(pid) }

        # @return [Array<Integer>] process ids of molds that were warm, the living one last
        def molds = log.scan(/mold \(pid (\d+)\): warm/).map { |(pid)| Integer(pid) }

        # @return [Array<Integer>] processes below the supervisor that have ended and that nobody waited for
        def zombies = children_of(@pid).select { |pid| state(pid) == "Z" }

        # @return [Array<Integer>]
        def children_of(parent) = pids.select { |pid| stat(pid)[1].to_i == parent }

        # @return [Array<Integer>] numbers of its open file descriptors
        def descriptors(pid) = Dir.children("/proc/#{pid}/fd").map(&:to_i).sort

        # @return [Integer] pid of the node's present process
        def node(number) = pids_of(number).last

        def signal(name, pid = @pid) = ::Process.kill(name, pid)

        # @param deadline [Numeric] s
        def await(what, deadline = 40) = wait_until(deadline, what, state: -> { tail }, every: 0.02) { yield }

        def await_log(pattern, times = 1) = await(pattern.inspect) { log.scan(pattern).size >= times }

        # Waits until all nodes are in their groups.
        def await_members(count = 2)
          await("#{count} members") { journal.count { |word, *| word == "member" } >= count }
        end

        # @return [Integer, nil] the supervisor's exit code
        def await_end(deadline = 40)
          await("the supervisor's end", deadline) { ended }
          @status.exitstatus
        end

        # @return [Array<Integer>] processes with the marker that aren't zombies
        def left
          Dir.glob("/proc/[0-9]*/environ").filter_map do |path|
            Integer(path.split("/")[2]) if File.binread(path).include?(@mark)
          rescue SystemCallError
            nil
          end
        end

        def await_nobody(deadline = 40) = await("end of all processes", deadline) { ended && left.empty? }

        # Kills the remaining processes.
        def close
          left.each do |pid|
            signal(:KILL, pid)
          rescue Errno::ESRCH
            nil
          end
          await_nobody
        ensure
          @cord.close
          [@own, @dir].compact.each { |folder| FileUtils.remove_entry(folder) }
        end

        def tail = "#{left} left\n#{log.lines.last(25).join}"

        private

        def pids = Dir.children("/proc").filter_map { |name| Integer(name, exception: false) }

        # State and parent.
        def stat(pid)
          File.read("/proc/#{pid}/stat").rpartition(")").last.split
        rescue SystemCallError
          []
        end

        def state(pid) = stat(pid).first

        def ended
          @status ||= ::Process.wait2(@pid, ::Process::WNOHANG)&.last
        end
      end
    end
  end
end
