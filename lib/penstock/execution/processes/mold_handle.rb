# frozen_string_literal: true

require "socket"
require_relative "../../clock"
require_relative "../../errors"
require_relative "channel"
require_relative "child_handle"
require_relative "failure"
require_relative "mold"
require_relative "shared_status"

module Penstock
  module Execution
    module Processes
      # No process could be created now. The units that need one have not run.
      class NoChild < StandardError
        include Error

        # @param error [Exception] what the system refused
        # @return [NoChild]
        def self.short_of(error)
          new("can't create a process for run_on :processes: #{error.message} (#{error.class}). Units wait, and it is tried " \
            "again each second; raise the limit of descriptors, processes or memory, or lower `max`")
        end
      end

      # The application's side of the mold: requests children and receives how they ended. The mold is forked by {.fork}, from
      # the main thread, before anything is open that doesn't survive a fork; on other threads it is spawned, see {MoldSpawn}.
      #
      # Any thread may request a child; a thread of its own reads. Ends with {#close}.
      class MoldHandle
        CLOSING_S = 8.0
        FORKING_S = 30.0
        # Errors of a socket whose other end is closed.
        GONE = [Errno::EPIPE, Errno::ECONNRESET, IOError].freeze
        private_constant :CLOSING_S, :FORKING_S, :GONE

        # @param child_context [ChildContext]
        # @return [MoldHandle]
        def self.fork(child_context)
          ours, theirs = UNIXSocket.pair
          pid = ::Process.fork do
            ours.close
            Mold.new(child_context, theirs).run
          ensure
            exit!(70)
          end
          theirs.close
          new(pid, ours)
        end

        # @return [Integer]
        attr_reader :pid

        # @param pid [Integer]
        # @param socket [UNIXSocket]
        # @param forking_s [Float] how long the mold may take to fork a process
        def initialize(pid, socket, forking_s: FORKING_S)
          @pid = pid
          @forking_s = forking_s
          @socket = socket
          @channel = Channel.new(socket)
          @lock = Mutex.new
          @requesting = Mutex.new
          @changed = ConditionVariable.new
          @requests = 0
          @awaited = @forked = nil
          @ended = {}
          @gone = false
          @closing = false
        end

        # @param threads [#start] starts threads
        # @param lost [#call] called when the mold is gone although it wasn't closed
        def start(threads, &lost)
          @lost = lost
          @reader = threads.start("penstock mold") { read }
        end

        # Creates a process.
        # @return [ChildHandle]
        # @raise [NoChild] the mold is gone, or the system has no descriptor, memory or process left
        def child
          ours, theirs = UNIXSocket.pair
          shared_status = SharedStatus.create
          pid = @requesting.synchronize { request_child(theirs, shared_status) }
          raise Failure.load(pid) if pid.is_a?(Hash)
          ChildHandle.new(pid, Channel.new(ours), shared_status, self)
        rescue => error
          [ours, shared_status].each { |io| io&.close }
          raise error if error.is_a?(NoChild) && !@gone
          raise gone?(error) ? NoChild.new("process #{@pid}, from which others are forked, is gone") : NoChild.short_of(error)
        ensure
          theirs&.close
        end

        # @param pid [Integer]
        # @param timeout_s [Float]
        # @return [Array(Integer, Integer), nil] signal and exit code of a child that ended; nil while it lives
        def ended(pid, timeout_s)
          ends = now + timeout_s
          @lock.synchronize do
            @changed.wait(@lock, [ends - now, 0].max) until @ended.key?(pid) || @gone || now >= ends
            @ended.delete(pid)
          end
        end

        # @param pid [Integer] of a child whose end wasn't reported yet
        def kill(pid)
          ::Process.kill(:KILL, pid)
        rescue Errno::ESRCH
          nil
        end

        # Children end when their own sockets are closed; the mold waits for them, and this method for the mold. Called once.
        def close
          return if @closing
          @closing = true
          @socket.close_write
          @reader&.join(CLOSING_S)
          @socket.close
          reap
        end

        private

        def gone?(error) = @gone || GONE.any? { |kind| error.is_a?(kind) }

        # Both sides count the requests, so that the answer to one that was abandoned isn't taken for a later one's. The process
        # that was forked for it finds its socket closed, and ends.
        def request_child(theirs, shared_status)
          @awaited = @requests + 1
          @socket.send_io(theirs)
          @socket.send_io(shared_status.file)
          @requests += 1
          answer || raise(NoChild, "process #{@pid}, from which others are forked, hasn't answered within #{@forking_s} s. " \
            "Units wait, and it is tried again each second")
        ensure
          @lock.synchronize { @awaited = @forked = nil }
        end

        def answer
          ends = now + @forking_s
          @lock.synchronize do
            @changed.wait(@lock, [ends - now, 0].max) until @forked || @gone || now >= ends
            @forked
          end
        end

        def read
          nil while @channel.read { |type, body| handle(type, Frame.value(body)) }
        ensure
          @lock.synchronize do
            @gone = true
            @changed.broadcast
          end
          @lost&.call unless @closing
        end

        def handle(type, value)
          @lock.synchronize do
            case type
            when :forked then forked_locked(*value)
            when :ended then @ended[value.first] = value.drop(1)
            end
            @changed.broadcast
          end
        end

        # Must be called with the lock held. An end that is known of this process id is that of an earlier process.
        def forked_locked(number, pid)
          @ended.delete(pid)
          @forked = pid if number == @awaited
        end

        # By its process id, and with a limit: it ends by itself within a few seconds.
        def reap
          ends = now + CLOSING_S
          until ::Process.wait(@pid, ::Process::WNOHANG)
            ::Process.kill(:KILL, @pid) if now > ends
            Thread.pass
            IO.select(nil, nil, nil, 0.01)
          end
        rescue Errno::ECHILD
          nil
        end

        def now = Clock.seconds
      end
    end
  end
end
