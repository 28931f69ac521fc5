# frozen_string_literal: true

module Penstock
  module Swarm
    # Decides when a node is silent for too long, when it is to be replaced, and when a dead one's successor may begin. Pure:
    # asked by the {Registry} with a node's entry and the time. Another object with these methods may stand in its place.
    class Policy
      # What a node gets beyond its own time to stop.
      GRACE_MS = 5_000
      # Of a stop that was asked for twice: as much as a server then has, and the grace.
      HURRIED_MS = 5_000 + GRACE_MS
      # Before the first report a node boots.
      BOOT_FACTOR = 2
      # Recycling limits of nodes differ by up to so much of themselves, or all would reach theirs at once.
      SPREAD = 0.1
      ANSWER_INTERVALS = 2
      private_constant :SPREAD, :BOOT_FACTOR, :ANSWER_INTERVALS

      # @return [Integer] ms
      attr_reader :interval_ms

      # @param settings [Config::Settings::Swarm]
      # @param shutdown_timeout [Integer] ms
      # @param random [#call] gives a Float from 0 up to 1
      def initialize(settings, shutdown_timeout, random: -> { rand })
        @settings = settings
        @shutdown_timeout = shutdown_timeout
        @random = random
        @interval_ms = settings.supervision_interval
      end

      # @return [Integer] ms a node has to stop before it is killed
      def node_shutdown_timeout = @shutdown_timeout + GRACE_MS

      # @return [Float] what the recycling limits of the process that begins now are multiplied by
      def spread = 1.0 - SPREAD * @random.call

      # @param entry [Registry::Entry]
      # @return [Integer] ms (monotonic) from which on it is silent for too long
      def silent_at(entry)
        entry.heard_at + @settings.liveness_timeout * ((entry.state == :starting) ? BOOT_FACTOR : 1)
      end

      # @return [Integer] ms (monotonic) from which on a mold that was forked at that time isn't waited for
      def mold_late_at(forked_at) = forked_at + @settings.liveness_timeout * BOOT_FACTOR

      # @return [Integer] ms a warm mold has to fork a node, which is two forks
      def mold_answer_ms = ANSWER_INTERVALS * @interval_ms

      # What a supervisor that was frozen grants: one full interval before it judges.
      # @return [Integer] the earliest `heard_at` a node is then taken to have
      def extended_silence_from(now) = now - @settings.liveness_timeout + @interval_ms

      # @param deaths [Integer] in a row, before the node was healthy
      # @return [Integer, nil] ms until the next begins; nil: never
      def wait_ms(deaths)
        return 0 if deaths.zero?
        waits = @settings.restart_backoff * (2**(deaths - 1))
        return waits if waits < @settings.restart_backoff_max
        @settings.restart_backoff_max if deaths == 1 || waits / 2 < @settings.restart_backoff_max
      end

      # @param entry [Registry::Entry] has ended by itself
      # @return [Boolean] whether it did its work for so short a time that the next may fare alike
      def short?(entry, now) = now - entry.forked_at < @settings.restart_backoff_max

      # @param falls [Integer] in a row, of nodes that did their work for a {#short?} time
      # @return [Integer] ms until the next begins: the first is free, and nobody is held down, for work goes on in between
      def pause_ms(falls) = wait_ms([falls - 1, 0].max) || @settings.restart_backoff_max

      # @return [String, nil] why this healthy node is to be replaced
      def worn_out(entry, now)
        over(entry, entry.fact(:rss_bytes), @settings.memory_limit, "bytes of memory") ||
          over(entry, entry.fact(:jobs), @settings.jobs_limit, "jobs") ||
          over(entry, now - entry.forked_at, @settings.age_limit, "ms of age")
      end

      # @return [Integer, nil] ms (monotonic) when its age is a reason; the others come with a report
      def worn_out_at(entry)
        @settings.age_limit && entry.forked_at + (@settings.age_limit * entry.spread).ceil
      end

      private

      def over(entry, value, limit, what)
        "#{value} #{what}, its limit is #{limit}" if value && limit && value >= limit * entry.spread
      end
    end
  end
end
