# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../clock"

module Penstock
  module Server
    # Reports the process's state to the service manager that started it, with systemd's protocol: datagrams to the
    # socket in NOTIFY_SOCKET. READY when it runs, RELOADING while a swarm's nodes are replaced, STOPPING; and WATCHDOG
    # twice per interval of the manager (WATCHDOG_USEC), but only while the vitals are live, so that a process whose
    # poll loops are blocked is ended although this thread still runs.
    #
    # States are reported by the thread that enters them, without blocking: messages for which the manager has no room
    # (all its services share a short queue) are queued in order and repeated by this object's own thread, started by
    # {#start}. The thread ends with {#close}, and continues even if the vitals or the logger raise: its silence would
    # end the process. No failure here stops anything: an unreachable manager is a line in the log.
    class ServiceManager
      # Interval at which queued messages are repeated.
      REPEAT_S = 0.1
      # Longest time that {#close} waits for a manager that doesn't read.
      LAST_S = 1.0
      # Interval at which the end of a rolling restart is checked.
      LOOK_S = 1.0
      private_constant :REPEAT_S, :LAST_S, :LOOK_S

      # @param vitals [#call] returns a Hash with `:live`, and in a supervisor `:rolling`
      # @param warn [#call] called with a text when the manager can't be reached
      # @param env [Hash, ENV]
      # @return [ServiceManager]
      def self.from(env, vitals:, warn:)
        ours = env["WATCHDOG_PID"].to_s.then { |pid| pid.empty? || pid == ::Process.pid.to_s }
        new(env.fetch("NOTIFY_SOCKET"), vitals: vitals, warn: warn, watchdog_us: ours ? env["WATCHDOG_USEC"].to_i : 0)
      end

      # @param address [String] a path, or `@name` for a socket outside of the file system
      # @param watchdog_us [Integer] interval in which the manager expects a sign of life; 0: none
      def initialize(address, vitals:, warn:, watchdog_us: 0)
        @address = address
        @vitals = vitals
        @warn = warn
        @beat_s = watchdog_us / 2_000_000.0 if watchdog_us.positive?
        @owner = ::Process.pid
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @owed = []
        @reloads = 0
        @reloading = nil
        @status = "running"
        @stage = :starting # then :running, :stopping, :closed
        @failed = @complained = false
      end

      # @param threads [#start]
      # @param monitor [#subscribe] publishes the states of this process
      # @return [self]
      def start(threads, monitor)
        connect
        complain
        listen(monitor)
        threads.start("penstock service manager") { run }
        self
      end

      # Any thread.
      def close
        ends = now + LAST_S
        nil until deliver || now > ends || !@socket.wait_writable(LAST_S)
        @lock.synchronize do
          @stage = :closed
          @changed.signal
        end
        @socket&.close
      end

      # Called in a child of a fork: its states don't concern the parent's manager.
      def forget = @socket&.close

      private

      def connect
        @socket = Socket.new(:UNIX, :DGRAM)
        @socket.connect(Addrinfo.unix(@address.sub(/\A@/, "\0"), :DGRAM))
      rescue SystemCallError, ArgumentError => error
        @trouble = error
      end

      # A supervisor runs once it could fork: before that it may still refuse to.
      def listen(monitor)
        monitor.subscribe("app.running") { ready }
        monitor.subscribe("swarm.manager.after_fork") { ready }
        monitor.subscribe("swarm.manager.restarting") { reloading }
        monitor.subscribe("app.quieting") { quieting }
        monitor.subscribe("app.stopping") { stopping }
      end

      # --- states

      def ready
        owe do
          next unless @stage == :starting
          @stage = :running
          "READY=1\nSTATUS=#{@status}"
        end
      end

      # The vitals report the further course. Before the first node is forked there is nothing to replace.
      def reloading
        owe do
          next unless @stage == :running
          @reloading = @reloads += 1
          @changed.signal
          "RELOADING=1\nMONOTONIC_USEC=#{(now * 1_000_000).to_i}\nSTATUS=replaces its nodes"
        end
      end

      def quieting
        owe do
          @status = "takes no new work"
          "STATUS=#{@status}" unless @stage == :stopping
        end
      end

      def stopping
        owe do
          @stage = :stopping
          "STOPPING=1\nSTATUS=stops"
        end
      end

      # A reload that wasn't reported yet isn't queued twice.
      #
      # @yieldreturn [String, nil] message to send, decided under the lock
      def owe
        return unless ours?
        @lock.synchronize do
          next if closed?
          text = yield or next
          @owed.pop if text.start_with?("RELOADING") && @owed.last&.start_with?("RELOADING")
          @owed << text
        end
        deliver
      end

      def closed? = @stage == :closed

      # --- the thread

      def run
        wait(attempt) until closed?
      end

      # Repeated failures are logged once.
      #
      # @return [Boolean] false: the manager has no room for all due messages; they are retried soon
      def attempt
        turn.tap { @failed = false }
      rescue => error
        warn_safely("the service manager can't be notified for now: #{error.class}: #{error.message}") unless @failed
        @failed = true
      end

      # Queued messages don't depend on the vitals.
      def turn
        reload = @reloading # read before the vitals, which then include it
        vitals = @vitals.call
        reloaded(reload) if reload && !vitals[:rolling]
        deliver && beat(vitals)
      rescue
        deliver
        raise
      end

      # Unless another reload has begun.
      def reloaded(reload)
        @lock.synchronize do
          next unless @reloading == reload
          @reloading = nil
          @owed << "READY=1\nSTATUS=#{@status}" if @stage == :running
        end
      end

      # @return [Boolean] false: the manager has no room for it now
      def beat(vitals)
        sent = !(@beat_s && vitals[:live]) || send_now("WATCHDOG=1")
        complain
        sent
      end

      def wait(sent)
        @lock.synchronize do
          again_s = REPEAT_S unless sent && @owed.empty?
          @changed.wait(@lock, [@beat_s, again_s, (LOOK_S if @reloading)].compact.min) unless closed?
        end
      end

      # --- the socket

      # @return [Boolean] whether no message is queued
      def deliver
        return true unless ours?
        sent = @lock.synchronize do
          @owed.shift while @owed.any? && send_now(@owed.first)
          @changed.signal if @owed.any?
          @owed.empty?
        end
        complain
        sent
      end

      # Never blocks.
      # @return [Boolean] false: the manager has no room for it now
      def send_now(text)
        return true if @socket.nil? || @socket.closed?
        @socket.sendmsg_nonblock(text, exception: false) != :wait_writable
      rescue SystemCallError, IOError => error
        @trouble ||= error
        true
      end

      # Once, because it won't improve.
      def complain
        return if @trouble.nil? || @complained || closed?
        @complained = true
        warn_safely("the service manager (NOTIFY_SOCKET=#{@address}) can't be reached: #{@trouble.message}. " \
          "It may end this process because it seems not to start, or is silent")
      end

      # A log that can't be written is no reason to stop the watchdog.
      def warn_safely(text)
        @warn.call(text)
      rescue
        nil
      end

      def now = Clock.seconds

      def ours? = ::Process.pid == @owner
    end
  end
end
