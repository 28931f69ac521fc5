# frozen_string_literal: true

module Penstock
  module Swarm
    # Decides when a node has been silent for too long, when it is replaced, and when a dead node's successor starts. Pure: the
    # {Registry} calls it with a node's entry and the time. Can be replaced by another object with these methods.
    class Policy
      # Time that a node gets in addition to its own time to stop.
      GRACE_MS = 5_000
      # Time of a stop that was requested twice: as much as a server then has, plus the grace.
      HURRIED_MS = 5_000 + GRACE_MS
      # Before its first report a node boots, which may take longer.
      BOOT_FACTOR = 2
      # Recycling limits of nodes vary by up to this share, otherwise all would reach theirs at once.
      SPREAD = 0.1
      ANSWER_INTERVALS = 2
      private_constant :SPREAD, :BOOT_FACTOR, :ANSWER_INTERVALS

      # @return [Integer] ms
      attr_reader :interval_ms

      # @param settings [Config::Settings::Swarm]
      # @param shutdown_timeout [Integer] ms
      # @param random [#call] returns a Float from 0 up to 1
      def initialize(settings, shutdown_timeout, random: -> { rand })
        @settings = settings
        @shutdown_timeout = shutdown_timeout
        @random = random
        @interval_ms = settings.supervision_interval
      end

      # @return [Integer] ms a node has to stop before it is killed
      def node_shutdown_timeout = @shutdown_timeout + GRACE_MS

      # @return [Float] factor for the recycling limits of the process that starts now
      def spread = 1.0 - SPREAD * @random.call

      # @param entry [Registry::Entry]
      # @return [Integer] monotonic ms after which it has been silent for too long
      def silent_at(entry)
        entry.heard_at + @settings.liveness_timeout * ((entry.state == :starting) ? BOOT_FACTOR : 1)
      end

      # @return [Integer] monotonic ms after which a mold that was forked at that time is no longer waited for
      def mold_late_at(forked_at) = forked_at + @settings.liveness_timeout * BOOT_FACTOR

      # @return [Integer] ms a warm mold has to fork a node, which takes two forks
      def mold_answer_ms = ANSWER_INTERVALS * @interval_ms

      # After having been frozen itself, a supervisor allows one full interval before it judges.
      # @return [Integer] the earliest `heard_at` that a node then counts as having
      def extended_silence_from(now) = now - @settings.liveness_timeout + @interval_ms

      # @param deaths [Integer] in a row, before the node was healthy
      # @return [Integer, nil] ms until the next one starts; nil: never
      def wait_ms(deaths)
        return 0 if deaths.zero?
        waits = @settings.restart_backoff * (2**(deaths - 1))
        return waits if waits < @settings.restart_backoff_max
        @settings.restart_backoff_max if deaths == 1 || waits / 2 < @settings.restart_backoff_max
      end

      # @param entry [Registry::Entry] has ended by itself
      # @return [Boolean] whether it worked for such a short time that the next may end in the same way
      def short?(entry, now) = now - entry.forked_at < @settings.restart_backoff_max

      # @param falls [Integer] in a row, of nodes that worked for a {#short?} time
      # @return [Integer] ms until the next one starts: the first time without a wait, and never held down, since work proceeds
      #   in between
      def pause_ms(falls) = wait_ms([falls - 1, 0].max) || @settings.restart_backoff_max

      # @return [String, nil] why this healthy node is replaced
      def worn_out(entry, now)
        over(entry, entry.fact(:rss_bytes), @settings.memory_limit, "bytes of memory") ||
          over(entry, entry.fact(:jobs), @settings.jobs_limit, "jobs") ||
          over(entry, now - entry.forked_at, @settings.age_limit, "ms of age")
      end

      # @return [Integer, nil] monotonic ms when its age becomes a reason; the other reasons come with a report
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
