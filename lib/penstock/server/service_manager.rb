# frozen_string_literal: true

require "io/wait"
require "socket"

module Penstock
  module Server
    # Tells the service manager that started this process how it does, in systemd's protocol: datagrams to the socket that
    # NOTIFY_SOCKET names. READY when it runs, RELOADING while a swarm's nodes are replaced, STOPPING; and WATCHDOG twice in each
    # interval the manager allows (WATCHDOG_USEC), but only while the vitals say live, so that a process whose poll loops stand
    # still is ended although this thread goes on.
    #
    # States are told by the thread on which they come about, which waits for nobody: what the manager has no room for (all its
    # services share a short queue) stays owed, in its order, and is repeated by a thread of this object's own, born by {#start}.
    # That ends with {#close}, and goes on whatever the vitals or the logger raise: its silence would end the process.
    # Nothing here is worth a failure: a manager that can't be reached is a line in the log.
    class ServiceManager
      # How often what is owed is told again.
      REPEAT_S = 0.1
      # So long the end waits for a manager that reads nothing.
      LAST_S = 1.0
      # How often it is looked whether a rolling restart is over.
      LOOK_S = 1.0
      private_constant :REPEAT_S, :LAST_S, :LOOK_S

      # @param vitals [#call] gives a Hash with `:live`, and in a supervisor `:rolling`
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
        @owed = []
        @reloads = 0
        @reloading = nil
        @status = "running"
        @stage = :starting # then :running, :stopping, :closed
        @failed = @complained = false
      end

      # @param threads [#start]
      # @param monitor [#subscribe] tells the states of this process
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

      # In a child of a fork: what becomes of it is no news of its parent's.
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

      # What follows is said by the vitals. Before the first node is forked there is nothing to replace.
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

      # A reload nobody was told of isn't told twice.
      #
      # @yieldreturn [String, nil] what to tell, decided under the lock
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

      # What fails is said once in a row.
      #
      # @return [Boolean] false: the manager has no room for all that is due, which is tried again soon
      def attempt
        turn.tap { @failed = false }
      rescue => error
        say("the service manager isn't told how this process does for now: #{error.class}: #{error.message}") unless @failed
        @failed = true
      end

      # What is owed doesn't hang on the vitals.
      def turn
        reload = @reloading # before the vitals, which then know of it
        vitals = @vitals.call
        reloaded(reload) if reload && !vitals[:rolling]
        deliver && beat(vitals)
      rescue
        deliver
        raise
      end

      # Unless another one has begun.
      def reloaded(reload)
        @lock.synchronize do
          next unless @reloading == reload
          @reloading = nil
          @owed << "READY=1\nSTATUS=#{@status}" if @stage == :running
        end
      end

      # @return [Boolean] false: the manager has no room for it now
      def beat(vitals)
        told = !(@beat_s && vitals[:live]) || tell("WATCHDOG=1")
        complain
        told
      end

      def wait(told)
        @lock.synchronize do
          again_s = REPEAT_S unless told && @owed.empty?
          @changed.wait(@lock, [@beat_s, again_s, (LOOK_S if @reloading)].compact.min) unless closed?
        end
      end

      # --- the socket

      # @return [Boolean] whether nothing is owed
      def deliver
        return true unless ours?
        told = @lock.synchronize do
          @owed.shift while @owed.any? && tell(@owed.first)
          @changed.signal if @owed.any?
          @owed.empty?
        end
        complain
        told
      end

      # Never waits.
      # @return [Boolean] false: the manager has no room for it now
      def tell(text)
        return true if @socket.nil? || @socket.closed?
        @socket.sendmsg_nonblock(text, exception: false) != :wait_writable
      rescue SystemCallError, IOError => error
        @trouble ||= error
        true
      end

      # Once: it won't get better.
      def complain
        return if @trouble.nil? || @complained || closed?
        @complained = true
        say("the service manager (NOTIFY_SOCKET=#{@address}) can't be told how this process does: #{@trouble.message}. " \
          "It may end it as one that doesn't start, or is silent")
      end

      # A log that can't be written is no reason to be silent elsewhere.
      def say(text)
        @warn.call(text)
      rescue
        nil
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

      def ours? = ::Process.pid == @owner
    end
  end
end
