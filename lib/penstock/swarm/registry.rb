# frozen_string_literal: true

require_relative "message"

module Penstock
  module Swarm
    # Keeps the state of each node of a swarm and decides what to do about it. Pure: messages, ends, orders and the time come
    # in, {#decide} returns the forks and signals that are due; nothing here forks, signals or reads a clock. Belongs to the
    # supervisor's main thread.
    #
    # docs/internals/swarm.md has the table of states and possible interruptions.
    class Registry
      STATES = %i[starting ready healthy stopping not_responding exited held_down awaited].freeze
      LIVING = STATES.first(5).freeze

      # A node to fork, or a signal to send with its reason.
      Fork = Struct.new(:index)
      Signal = Struct.new(:index, :name, :reason)

      # One node. Times are monotonic ms. `heard_at` is its last sign of life; `deadline_at` when a stopping one is killed;
      # `due_at` when a dead one's successor starts; `deaths` how many in a row weren't healthy, `falls` how many were but not
      # for long; `joined` whether it was in its groups once; `asked` whether we requested it to stop; `spread` varies its
      # recycling limits; `number` counts forks.
      Entry = Struct.new(:index, :state, :pid, :forked_at, :heard_at, :deadline_at, :due_at, :deaths, :falls, :joined, :facts,
        :reason, :complaint, :asked, :killed, :lived, :spread, :number, keyword_init: true) do
        def living? = LIVING.include?(state)
        def working? = %i[starting ready healthy].include?(state)
        # Has been in its groups, or is held down: others may be disturbed.
        def settled? = (state == :healthy && joined) || state == :held_down
        # In its groups, according to its last report.
        def member? = state == :healthy && !!fact(:member)
        # Read once: another thread may call this while the node's entry is being cleared.
        def fact(name) = facts.then { |found| found[name] if found.is_a?(Hash) }
      end

      # @param count [Integer] nodes
      # @param policy [Policy]
      # @param now [Integer] ms
      def initialize(count, policy, now)
        @policy = policy
        @entries = Array.new(count) do |index|
          Entry.new(index: index, state: :exited, due_at: now, deaths: 0, falls: 0, spread: 1.0)
        end
        @roll = []
        @rolling = false
        @stops = 0
        @quiet = false
        @forks = @rolled_at = 0
        @lenient_until = now
      end

      # @return [Array<Entry>]
      attr_reader :entries

      # --- what happened

      # @return [Entry]
      def forked(index, pid, now)
        entry = @entries[index]
        entry.to_h.each_key { |name| entry[name] = nil unless %i[index deaths falls].include?(name) }
        entry.state = :starting
        entry.pid = pid
        entry.forked_at = entry.heard_at = now
        entry.spread = @policy.spread
        entry.number = @forks += 1
        condemn(entry, now + @policy.node_shutdown_timeout, "the swarm stops") if stopping?
        entry
      end

      # It will be forked by the mold: {#forked}, {#unforkable} or {#not_forked} follows.
      def awaited(index) = @entries[index].state = :awaited

      # It won't be forked, for a reason unrelated to the node.
      def not_forked(index, now)
        entry = @entries[index]
        return unless entry.state == :awaited
        entry.state = :exited
        entry.due_at = now
      end

      # No process could be created.
      def unforkable(index, reason, now)
        entry = @entries[index]
        entry.deaths += 1
        mark_exited(entry, reason, now, @policy.wait_ms(entry.deaths))
      end

      # @param message [Struct] see {Message}
      def received(index, message, now)
        entry = @entries[index]
        return unless entry.living?
        entry.heard_at = now
        case message
        when Message::Ready then report(entry, :ready, message.facts, now)
        when Message::Healthy then report(entry, :healthy, message.facts, now)
        when Message::Unhealthy then complain(entry, message, now)
        when Message::Stopping then leaving(entry, now + message.within_ms.to_i + Policy::GRACE_MS)
        end
      end

      # @param how [String] as text
      # @param failed [Boolean] whether its exit code shows that the next one would end in the same way
      # @param from_outside [Boolean] whether somebody killed it: that doesn't count against the next one
      # @return [Entry]
      def ended(index, how, now, failed: false, from_outside: false)
        entry = @entries[index]
        lived = entry.lived && !failed
        entry.deaths = lived ? 0 : entry.deaths + 1
        wait = lived ? pause(entry, now, entry.asked || from_outside) : @policy.wait_ms(entry.deaths)
        mark_exited(entry, how, now, wait)
      end

      # --- orders

      # Stops all nodes; the second call shortens their time, the third kills them.
      # @return [Array<Signal>]
      def stop(now)
        @stops += 1
        end_roll
        limit = (@stops > 1) ? Policy::HURRIED_MS : @policy.node_shutdown_timeout
        living.map do |entry|
          condemn(entry, now + limit, "the swarm stops")
          entry.killed = true if @stops > 2
          Signal.new(entry.index, (@stops > 2) ? "KILL" : "TERM", "the swarm stops")
        end
      end

      # Replaces all nodes, one after another; those held down are tried again.
      # @return [Boolean] false: nodes are no longer replaced
      def restart(now)
        return false if at_rest?
        @rolling = true
        @rolled_at = @forks
        @roll = @entries.map(&:index)
        @entries.select { |entry| entry.state == :held_down }.each do |entry|
          entry.state = :exited
          entry.deaths = 0
          entry.due_at = now
        end
        true
      end

      # Stops replacing nodes.
      def quiet
        end_roll
        @quiet = true
      end

      # The supervisor itself was frozen: nodes that seem late may not be. Nodes that were frozen with it report themselves as
      # late until their loops have completed a turn; so for one interval such reports are ignored. A node that really is late
      # reports it again.
      def extend_deadlines(now)
        @lenient_until = now + @policy.interval_ms
        living.each do |entry|
          entry.complaint = nil
          entry.heard_at = [entry.heard_at, @policy.extended_silence_from(now)].max
          entry.deadline_at = [entry.deadline_at, now + @policy.interval_ms].max if entry.deadline_at
        end
      end

      # --- queries

      # @return [Array<Hash>] the state of each node, for display
      def to_a
        @entries.map do |entry|
          {node: entry.index, state: entry.state, pid: entry.pid, reason: entry.reason, health: entry.facts}
        end
      end

      def stopping? = @stops.positive?
      def at_rest? = @quiet || stopping?
      # @return [Boolean] whether the swarm was made quiet and every node that lives has reported that nothing of it runs
      def quiet? = @quiet && !stopping? && living.all? { |entry| entry.fact(:state) == "quiet" }
      def hurried? = @stops > 2
      # @return [Boolean] whether some nodes have not been replaced and settled since a restart was requested. Any thread
      def rolling? = @rolling
      def living = @entries.select(&:living?)

      # @return [Boolean] whether there is nothing left to supervise
      def over? = living.empty? && (stopping? || @entries.all? { |entry| entry.state == :held_down })

      # Returns the due actions. Signals count as sent; forks are reported by {#forked} or {#unforkable}.
      # @return [Array<Fork, Signal>]
      def decide(now)
        [*judge(now), *(due_forks(now) unless at_rest?), *renew(now)]
      end

      # @return [Integer, nil] monotonic ms of the next decision if no event comes
      def next_due
        @entries.filter_map { |entry| due_of(entry) }.min
      end

      private

      # --- reports

      # A node has lived once it was in its groups or, where no broker is available, for an interval: one that dies of its first
      # action has not.
      def report(entry, state, facts, now)
        entry.facts = facts
        entry.joined ||= entry.fact(:member)
        return unless entry.working?
        entry.state = state unless entry.state == :healthy
        entry.lived ||= state == :healthy && (entry.joined || now - entry.forked_at >= @policy.interval_ms)
      end

      def complain(entry, message, now)
        entry.facts = message.facts
        return if now < @lenient_until
        entry.complaint ||= message.reason.to_s if entry.working?
      end

      # It stops by itself. Our own deadline is kept if it is sooner.
      def leaving(entry, deadline_at)
        entry.deadline_at = [entry.deadline_at, deadline_at].compact.min
        entry.state = :stopping if entry.working?
      end

      # The wait after a node that did its work. A cause that ends all nodes soon, such as a record, disturbs their groups each
      # time.
      def pause(entry, now, excused)
        return 0 if excused
        entry.falls = @policy.short?(entry, now) ? entry.falls + 1 : 0
        @policy.pause_ms(entry.falls)
      end

      def mark_exited(entry, how, now, wait)
        entry.state = wait ? :exited : :held_down
        entry.due_at = wait && now + wait
        entry.reason = how
        entry.pid = entry.deadline_at = entry.facts = entry.joined = nil
        entry
      end

      # --- decisions

      def judge(now)
        living.filter_map do |entry|
          next kill(entry, now) unless entry.working?
          reason = entry.complaint || silence(entry, now) or next
          condemn(entry, now + @policy.node_shutdown_timeout, reason, :not_responding)
          Signal.new(entry.index, "TERM", reason)
        end
      end

      def silence(entry, now)
        "it sent no report for #{now - entry.heard_at} ms" if now >= @policy.silent_at(entry)
      end

      def kill(entry, now)
        return if entry.killed || now < entry.deadline_at
        entry.killed = true
        Signal.new(entry.index, "KILL", "it didn't stop in time")
      end

      def condemn(entry, deadline_at, reason, state = :stopping)
        entry.state = state unless entry.state == :not_responding
        entry.deadline_at = [entry.deadline_at, deadline_at].compact.min
        entry.asked = true
        entry.reason = reason
      end

      def due_forks(now)
        @entries.select { |entry| entry.state == :exited && now >= entry.due_at }.map { |entry| Fork.new(entry.index) }
      end

      # One at a time, and only while all others do their work.
      def renew(now)
        @roll.shift while @roll.any? && replaced?(@entries[@roll.first])
        return unless renewing?
        @rolling = @roll.any?
        entry, reason = rolled || worn_out(now)
        return unless entry
        condemn(entry, now + @policy.node_shutdown_timeout, reason)
        [Signal.new(entry.index, "TERM", reason)]
      end

      # The actions due here are done by {#renew}; otherwise the supervisor's loop would spin.
      def renewing? = !at_rest? && @entries.all?(&:settled?)

      def end_roll
        @roll = []
        @rolling = false
      end

      # Since the restart was requested, for any reason.
      def replaced?(entry) = entry.state == :held_down || (entry.living? && entry.number > @rolled_at)

      def rolled
        index = @roll.shift
        [@entries[index], "a rolling restart"] if index
      end

      def worn_out(now)
        @entries.each do |entry|
          reason = @policy.worn_out(entry, now) if entry.state == :healthy
          return [entry, reason] if reason
        end
        nil
      end

      def due_of(entry)
        case entry.state
        when :exited then at_rest? ? nil : entry.due_at
        when :stopping, :not_responding then entry.killed ? nil : entry.deadline_at
        when :held_down, :awaited then nil
        else [@policy.silent_at(entry), (@policy.worn_out_at(entry) if renewing?)].compact.min
        end
      end
    end
  end
end
