# frozen_string_literal: true

require_relative "../clock"

module Penstock
  module Swarm
    # A node's thread that reports to the supervisor, alongside the work, and stops the node when the supervisor is gone. It
    # reports the progress of the work, not just that this thread lives.
    #
    # Started with the node, ends with {#close}.
    class Watchman
      # Until the node is in its groups, each step is reported soon.
      LOOK_MS = 100
      # The states of a process whose loops don't run yet. It may be past :running by the time it is first seen running.
      BOOT = %i[initializing initialized supervising].freeze
      private_constant :LOOK_MS, :BOOT

      # @param reports [Reports]
      # @param death [IO] at its end when the supervisor is gone
      # @param interval_ms [Integer]
      # @param health [#call] returns a {Server::Health}, nil before there is a server
      # @param jobs [#call] returns how many jobs have ended, nil where that isn't needed
      # @param orphaned [#call] called when the supervisor is gone
      def initialize(reports:, death:, interval_ms:, health:, jobs:, orphaned:)
        @reports = reports
        @death = death
        @interval_ms = interval_ms
        @health = health
        @jobs = jobs
        @orphaned = orphaned
        @reader, @writer = IO.pipe
        @stage = :booting
        @reported_at = nil
      end

      # The thread's body.
      def run
        turn until @closed
      ensure
        [@reader, @writer].each(&:close)
      end

      # Any thread. A pending report is sent first.
      def wake = @writer.write_nonblock(".", exception: false)

      # Any thread.
      def close
        @closed = true
        wake
      rescue IOError
        nil
      end

      private

      def turn
        health = @health.call
        look(health) if health
        ready, = IO.select([@reader, @death].compact, nil, nil, wait_s)
        @reader.read_nonblock(64, exception: false) if ready&.include?(@reader)
        orphaned if ready&.include?(@death)
      end

      def wait_s = ((@stage == :member) ? @interval_ms : [LOOK_MS, @interval_ms].min) / 1_000.0

      # Reports each step at once, otherwise once per interval.
      def look(health)
        return if BOOT.include?(health.state)
        ready(health) if @stage == :booting
        became_member = @stage == :ready && health.member?
        @stage = :member if became_member
        report(health) if became_member || due?
      end

      def ready(health)
        @stage = :ready
        send_report(:ready, health)
      end

      def due? = @reported_at.nil? || now - @reported_at >= @interval_ms

      def report(health)
        @reported_at = now
        complaint = health.complaint
        complaint ? @reports.unhealthy(complaint, facts(health)) : send_report(:healthy, health)
      end

      def send_report(kind, health) = @reports.public_send(kind, facts(health))

      def facts(health) = {**health.to_h, jobs: @jobs.call}.compact

      # The death pipe is at its end, permanently. A byte in it was written by mistake and is ignored.
      def orphaned
        return unless @death.read_nonblock(64, exception: false).nil?
        @death = nil
        @orphaned.call
      end

      def now = Clock::SYSTEM.monotonic_ms
    end
  end
end
