# frozen_string_literal: true

require "etc"

module Penstock
  module Server
    # A snapshot of a process's health. The supervisor, `/health`, `penstock status` and the log all use it. A value,
    # created by {.of} on any thread. Its data belongs to other threads, so the parts may be from slightly different
    # instants.
    class Health
      # Longest time without a turn of a poll loop; normally it turns at least once a second.
      LOOP_MS = 60_000
      PAGE_BYTES = Etc.sysconf(Etc::SC_PAGESIZE)
      private_constant :PAGE_BYTES

      # One poll loop: `idle_ms` since its last turn, nil while it has no connection.
      Loop = Struct.new(:group, :member, :partitions, :idle_ms)

      # @param state [Symbol] the lifecycle's
      # @param loops [Array<Runtime::PollLoop>]
      # @param running [Integer] number of running jobs
      # @param now [Integer] monotonic ms
      # @param breakers [Array<Hash>] facts about open breakers
      # @param load [Hash, nil] what worker threads did in the last minute, see {WorkerLoad#to_facts}
      # @return [Health]
      def self.of(state, loops, running, now, breakers = [], load = nil)
        rows = loops.map do |one|
          partitions, member = one.assignment_state
          Loop.new(one.group.id, member, partitions, (now - (one.turned_at || now) if one.connected?))
        end
        new(state, rows, running, Rss.bytes(now), breakers, load)
      end

      # Resident memory of this process, read at most once a second: reading a file releases Ruby's lock three times,
      # and getting it again may take 100 ms each time while other threads compute. Frequent probes would multiply that.
      module Rss
        EVERY_MS = 1_000
        # Time and process of the last reading: a child of a fork has its own memory.
        Reading = Struct.new(:pid, :at, :bytes)
        private_constant :EVERY_MS, :Reading

        # @param now [Integer] monotonic ms
        # @return [Integer, nil] nil if the system doesn't report it
        def self.bytes(now)
          last = @last
          return last.bytes if last && last.pid == ::Process.pid && (now - last.at).between?(0, EVERY_MS)
          (@last = Reading.new(::Process.pid, now, read)).bytes
        end

        def self.read
          Integer(File.read("/proc/self/statm").split[1]) * PAGE_BYTES
        rescue SystemCallError
          nil
        end
        private_class_method :read
      end

      attr_reader :state, :loops, :running, :breakers

      # @return [Integer, nil]
      attr_reader :rss_bytes

      def initialize(state, loops, running, rss_bytes, breakers = [], load = nil)
        @state = state
        @loops = loops
        @running = running
        @rss_bytes = rss_bytes
        @breakers = breakers
        @load = load
      end

      # @return [String, nil] why this process should be replaced
      def complaint
        stuck = @loops.find { |one| one.idle_ms && one.idle_ms > LOOP_MS }
        "the poll loop of #{stuck.group} has been blocked for #{stuck.idle_ms} ms" if stuck
      end

      # @return [Boolean] whether the process works, or has ended in order. Lag doesn't count: a restart would increase
      #   it
      def live? = complaint.nil?

      # @return [Boolean] whether it is a member of all its groups and takes work
      def ready? = @state == :running && member?

      # @return [Boolean]
      def member? = @loops.any? && @loops.all?(&:member)

      # @return [Hash] for JSON
      def to_h
        {state: @state.to_s, live: live?, ready: ready?, member: member?, reason: complaint, rss_bytes: @rss_bytes,
         running: @running, partitions: @loops.sum(&:partitions), loops: @loops.map(&:to_h),
         breakers: (@breakers if @breakers.any?), load: @load}.compact
      end
    end
  end
end
