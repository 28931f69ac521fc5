# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../../clock"
require_relative "../../errors"
require_relative "../../native/handles"
require_relative "channel"
require_relative "child"
require_relative "failure"
require_relative "orphans"

module Penstock
  module Execution
    module Processes
      # Runs inside the process from which the pool's processes are forked: a copy of the application as it was when it was
      # loaded and had opened nothing. It runs no unit and no thread of its own; it forks, sets up each child's process, waits
      # for its children by their process ids, and reports how they ended. It ends when the application closes its socket, or
      # is gone.
      class Mold
        # Signals sent to a whole process group are for the application, which ends this process by closing the socket.
        SIGNALS = %w[INT TERM QUIT HUP USR1 USR2 TTIN TSTP].freeze
        # Installs empty handlers in a mold, and while a spawned one is loaded.
        def self.ignore_signals
          # A handler, not "IGNORE", which programs started by user code would inherit.
          SIGNALS.each { |name| trap(name) {} }
        end

        # @return [Array<Problem>] why this process can't be forked from: one for each open handle
        def self.obstacles
          Native::Handles.open.map do |line|
            Problem.new("run_on :processes", "processes must be forked before anything is open to Kafka: #{line}",
              "Open it when the application runs, or close it first")
          end
        end

        ENDING_S = 5.0
        # Interval of checking the parent: a process that the application forked may hold the socket open after the
        # application's end.
        PARENT_S = 1.0
        private_constant :SIGNALS, :ENDING_S, :PARENT_S

        # @param child_context [ChildContext]
        # @param socket [UNIXSocket] to the application; each request carries a child's socket and its shared status
        def initialize(child_context, socket)
          @child_context = child_context
          @socket = socket
          @channel = Channel.new(socket)
          @children = {}
          @requests = 0
        end

        # Never returns.
        def run
          @parent = ::Process.ppid
          ::Process.setproctitle("penstock mold of #{@parent}")
          Mold.ignore_signals
          @ended, wake = IO.pipe
          trap("CHLD") { wake.write_nonblock(".", exception: false) }
          warm_up
          turn while @socket
          finish
        ensure
          exit!(0)
        end

        private

        # Memory pages that are written now are shared by the children later.
        def warm_up
          ::Process.respond_to?(:warmup) ? ::Process.warmup : GC.start
        end

        def turn
          ready, = IO.select([@socket, @ended], nil, nil, PARENT_S)
          return (@socket = nil unless ::Process.ppid == @parent) unless ready
          reap if ready.include?(@ended)
          request if ready.include?(@socket)
        end

        def request
          socket = @socket.recv_io(UNIXSocket)
          shared_status = @socket.recv_io(File, "r+b")
          @channel.send_value(:forked, [@requests += 1, fork_child(socket, shared_status)])
        rescue SocketError, SystemCallError, IOError # no request: the other end is closed
          @socket = nil
        ensure
          [socket, shared_status].each { |io| io&.close }
        end

        # @return [Integer, Hash] process id; where there is no memory or process left, the error, see {Failure}: the next request
        #   may succeed
        def fork_child(socket, shared_status)
          mold = ::Process.pid
          fork { child(mold, socket, shared_status) }.tap { |pid| @children[pid] = true }
        rescue SystemCallError => error
          Failure.dump(error)
        end

        def child(mold, socket, shared_status)
          trap("CHLD", "DEFAULT")
          Orphans.die_with_parent(mold)
          ::Process.setproctitle("penstock process of #{mold}")
          [@socket, @ended].each(&:close)
          Child.new(@child_context, socket, shared_status).run
        ensure
          exit!(70)
        end

        def reap
          @ended.read_nonblock(1_024, exception: false)
          @children.keys.each do |pid|
            _, status = ::Process.wait2(pid, ::Process::WNOHANG)
            ended(pid, status) if status
          end
        end

        def ended(pid, status)
          @children.delete(pid)
          @channel.send_value(:ended, [pid, status.termsig, status.exitstatus])
        rescue SystemCallError, IOError
          @socket = nil
        end

        # The children's sockets are closed with the application's: they end by themselves, or are killed.
        def finish
          @socket = nil
          ends = now + ENDING_S
          while @children.any? && now < ends
            @ended.wait_readable(ends - now)
            reap
          end
          @children.each_key { |pid| ::Process.kill(:KILL, pid) && ::Process.wait(pid) }
        end

        def now = Clock.seconds
      end
    end
  end
end
