# frozen_string_literal: true

require "io/wait"
require "socket"

module Penstock
  module ServerProcess
    # Tells the service manager that started this process how it does, in systemd's protocol: datagrams to the socket that
    # NOTIFY_SOCKET names. READY when it runs, RELOADING while a swarm's nodes are replaced, STOPPING; and WATCHDOG twice in each
    # interval the manager allows (WATCHDOG_USEC), but only while the vitals say live, so that a process whose poll loops stand
    # still is ended although this thread goes on.
    #
    # States are told by the thread on which they come about. One thread of its own, born by {#start}, which ends with {#close}.
    # Nothing here is worth a failure: a manager that can't be reached is a line in the log.
    class ServiceManager
      # The manager reads at once; where it doesn't, nobody waits for it longer.
      WAIT_S = 1.0
      # How often it is looked whether a rolling restart is over.
      LOOK_S = 1.0
      ROLLING = %i[USR2 HUP].freeze
      private_constant :WAIT_S, :LOOK_S, :ROLLING

      # @param vitals [#call] gives a Hash with `:live`, and in a supervisor `:ready` and `:rolling`
      # @param warn [#call] is told in words when the manager can't be reached
      # @param env [Hash, ENV]
      # @return [ServiceManager]
      def self.from(env, vitals:, warn:)
        ours = env["WATCHDOG_PID"].to_s.then { |pid| pid.empty? || pid == ::Process.pid.to_s }
        new(env.fetch("NOTIFY_SOCKET"), vitals: vitals, warn: warn, watchdog_us: ours ? env["WATCHDOG_USEC"].to_i : 0)
      end

      # @param address [String] a path, or `@name` for a socket outside of the file system
      # @param watchdog_us [Integer] so long the manager waits for a sign of life; 0: it wants none
      def initialize(address, vitals:, warn:, watchdog_us: 0)
        @address = address
        @vitals = vitals
        @warn = warn
        @beat_s = watchdog_us / 2_000_000.0 if watchdog_us.positive?
        @owner = ::Process.pid
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @reloading = nil
        @closed = @told = @stopping = @complained = false
      end

      # @param threads [#start]
      # @param monitor [#subscribe] tells the states of this process
      # @return [self]
      def start(threads, monitor)
        connect
        listen(monitor)
        threads.start("penstock service manager") { run }
        self
      end

      # Any thread.
      def close
        @lock.synchronize do
          @closed = true
          @changed.signal
        end
        @socket&.close
      end

      # In a child of a fork: what becomes of it is no news of its parent's.
      def forget = @socket&.close

      private

      def connect
        @socket = Socket.new(:UNIX, :DGRAM)
        @socket.connect(Addrinfo.unix(@address.sub(/\A@/, "\0"), :DGRAM))
      rescue SystemCallError, ArgumentError => error
        unreachable(error)
      end

      # A supervisor runs once it could fork: before that it may still refuse to.
      def listen(monitor)
        monitor.subscribe("app.running") { ready }
        monitor.subscribe("swarm.manager.after_fork") { ready }
        monitor.subscribe("app.quieting") { tell("STATUS=takes no new work") unless @stopping }
        monitor.subscribe("app.stopping") { stopping }
        monitor.subscribe("process.notice_signal") { |event| reloading if ROLLING.include?(event[:signal]) }
      end

      def ready
        return if @told || !ours?
        @told = true
        tell("READY=1\nSTATUS=running")
      end

      def stopping
        @stopping = true
        tell("STOPPING=1\nSTATUS=stops")
      end

      # What follows is said by the vitals, of a supervisor alone: a server replaces nobody. The nodes' turn begins behind this
      # event, on the same thread; so the first look comes later.
      def reloading
        return unless ours? && @vitals.call.key?(:rolling)
        tell("RELOADING=1\nMONOTONIC_USEC=#{(now * 1_000_000).to_i}\nSTATUS=replaces its nodes")
        @lock.synchronize do
          @reloading = now
          @changed.signal
        end
      end

      def run
        until @closed
          vitals = @vitals.call
          tell("WATCHDOG=1") if @beat_s && vitals[:live]
          look(vitals) if @reloading && now - @reloading >= LOOK_S
          wait
        end
      end

      def look(vitals)
        return if vitals[:rolling] || !(vitals[:ready] || @stopping)
        @reloading = nil
        tell("READY=1\nSTATUS=running") unless @stopping
      end

      def wait
        @lock.synchronize { @changed.wait(@lock, [@beat_s, (LOOK_S if @reloading)].compact.min) unless @closed }
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

      def ours? = ::Process.pid == @owner

      def tell(text)
        return unless ours? && @socket && !@socket.closed?
        sent = @socket.sendmsg_nonblock(text, exception: false)
        @socket.sendmsg_nonblock(text, exception: false) if sent == :wait_writable && @socket.wait_writable(WAIT_S)
      rescue SystemCallError, IOError => error
        unreachable(error) unless @closed
      end

      # Once: it won't get better.
      def unreachable(error)
        return if @complained
        @complained = true
        @warn.call("the service manager (NOTIFY_SOCKET=#{@address}) can't be told how this process does: #{error.message}. " \
          "It may end it as one that doesn't start, or is silent")
      end
    end
  end
end
