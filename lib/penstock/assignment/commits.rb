# frozen_string_literal: true

module Penstock
  module Assignment
    # Decides which offsets to commit and when, and what an answer means. Pure: the loop sends the entries that {#due} lists and
    # passes on the answer. One commit is in flight at a time, because a second one could overtake it, and because partitions that
    # are assigned can't start while commits are outstanding.
    #
    # A lane that was just assigned is committed unconditionally, even if its offset hasn't moved: at its first interval and again
    # a minute later. That overwrites a late commit of an earlier owner. Where the group has no members ({KEEP_ALIVE_MS}), it is
    # committed again each day: brokers forget the offsets of such a group after `offsets.retention.minutes`, partition by
    # partition.
    class Commits
      # Errors after which it makes no sense to send the same offsets again at once. After all other errors they are sent again
      # as long as this process owns the lane, because the client library doesn't do that.
      #
      # An illegal generation isn't one of them: a commit that is sent while the member's JoinGroup is in progress waits for it
      # (a broker serves a connection's requests one by one) and reaches the next generation. A lane that stays is ours in both
      # generations; any other lane was revoked in between, and offsets of lanes that aren't owned are never sent again.
      PERMANENT = %i[unknown_member_id fenced_instance_id fenced_member_epoch fenced fatal assignment_lost
        offset_metadata_too_large invalid_commit_offset_size topic_authorization_failed group_authorization_failed
        cluster_authorization_failed unknown_topic_or_part unknown_topic_id invalid_group_id group_id_not_found no_offset
        unsupported_version invalid_request destroy].freeze
      # The broker refuses the length of the metadata: only the offset is sent.
      TOO_LARGE = :offset_metadata_too_large
      REPEAT_AFTER_MS = 60_000
      # How often unchanged offsets of a group without members are committed.
      KEEP_ALIVE_MS = 86_400_000
      # Bytes below which nothing useful fits: an empty envelope takes 29, one with two crash counts 48.
      LEAST_BUDGET = 64
      private_constant :LEAST_BUDGET

      # One partition's share of a commit.
      Entry = Struct.new(:lane, :offset, :metadata, :leader_epoch, :incarnation, :version)

      attr_reader :interval_ms

      # @param interval_ms [Integer]
      # @param retry_ms [Integer] wait before offsets are sent again after a refusal
      # @param keep_alive_ms [Integer, nil] interval at which unchanged offsets are committed; nil: never
      def initialize(interval_ms, retry_ms: 200, keep_alive_ms: nil)
        @interval_ms = interval_ms
        @keep_alive_ms = keep_alive_ms
        @retry_ms = retry_ms
        @due_at = nil
        @in_flight = nil
        @unconditional = {}
        @earliest = Float::INFINITY
        @bare = {}
        @again = []
        @outdated = Hash.new(0)
        @token = 0
      end

      # @return [Boolean]
      def in_flight? = !@in_flight.nil?

      # Called on almost every turn: thousands of lanes are looked at only when one of them may be due before the interval ends.
      # @return [Integer, nil] monotonic ms of the next commit by interval
      def next_due
        return if in_flight?
        return @due_at if @due_at && @due_at <= @earliest
        soonest = @due_at
        @unconditional.each do |lane, times|
          due = times.first
          soonest = due if (soonest.nil? || due < soonest) && committable?(lane)
        end
        @earliest = @unconditional.each_value.map(&:first).min || Float::INFINITY
        soonest
      end

      # Starts the interval: offsets may have moved, or a lane was adopted.
      def start_interval(now)
        @due_at ||= now + @interval_ms
      end

      # @return [Boolean] whether the interval has started; called for every outcome
      def interval_started? = !@due_at.nil?

      # @param lane [Processing::Lane]
      def adopted(lane, now)
        @unconditional[lane] = [now + @interval_ms, now + @interval_ms + REPEAT_AFTER_MS]
        @earliest = [@earliest, now + @interval_ms].min
        start_interval(now)
      end

      # @param lane [Processing::Lane] no longer owned
      def forget(lane)
        @unconditional.delete(lane)
        @bare.delete(lane)
        @outdated.delete(lane)
      end

      # Resets the count of outdated answers: earlier answers were about generations that this member has left. Only later
      # answers show whether the generation in which the lanes are revoked has ended too.
      #
      # @param lanes [Array<Processing::Lane>] about to be revoked
      def reset_outdated(lanes) = lanes.each { |lane| @outdated.delete(lane) }

      # @param lanes [Array<Processing::Lane>]
      # @return [Array<Entry>] the contents of an interval's commit; marks must have been read before
      def due(lanes, now)
        wanted = lanes.select { |lane| lane.owned? && lane.committable_offset }
        wanted.filter_map { |lane| entry(lane) if lane.commit_state.uncommitted? || forced?(lane, now) }
      end

      # @return [Entry]
      def entry(lane)
        position = lane.committable_offset
        version = bare?(lane) ? nil : lane.ledger.version
        Entry.new(lane, position, nil, lane.leader_epochs.below(position), lane.incarnation, version)
      end

      # @return [Boolean] whether the offset is sent without metadata because the broker refused their length
      def bare?(lane) = @bare.key?(lane)

      # Called when the metadata is too long for this broker: the offset is sent without it, and the lane's metadata budget is
      # halved. Once the budget is below what any metadata needs, all later offsets are sent without it.
      # @param lane [Processing::Lane]
      def too_large(lane)
        lane.ledger.budget /= 2
        @bare[lane] = true
      end

      # Called when the lane's offset is committed. If it was sent without metadata, the next commit includes metadata again, as
      # far as the budget allows.
      # @param lane [Processing::Lane]
      # @return [Boolean] whether metadata is left that another commit can contain
      def offset_committed(lane)
        return false unless lane.ledger.budget >= LEAST_BUDGET
        return false unless @bare.delete(lane)
        unwritten(lane) # the next commit contains what this one had to leave out
        lane.suspects&.refused!
        true
      end

      # @param entries [Array<Entry>] just passed to the driver
      # @param all [Boolean] whether every lane was considered; if not, other lanes that moved are still due
      # @return [Integer] token that the answer will contain
      def sent(entries, now, all: true)
        entries.each do |entry|
          sent_unconditionally(entry.lane, now)
          entry.lane.attempts.written!
          entry.lane.suspects&.written!
        end
        @in_flight = entries
        all ? nothing_due : @again -= entries.map(&:lane)
        @token += 1
      end

      # Called when the interval has elapsed and no offset has moved.
      def nothing_due
        @due_at = nil
        @again = []
      end

      # @return [Boolean] whether a commit of one of the lanes is in flight, or was refused and is about to be sent again
      def unsettled?(lanes)
        under_way = @in_flight&.map(&:lane) || []
        under_way.intersect?(lanes) || @again.any? { |lane| lanes.include?(lane) && lane.owned? }
      end

      # True after two answers in a row, since the revocation of the lanes began, named another generation. The first may belong
      # to a commit sent before the member had joined it; the second means that the group has continued without this member, and
      # nothing will be accepted until it joins again.
      #
      # @param lanes [Array<Processing::Lane>]
      # @return [Boolean]
      def outdated?(lanes) = lanes.any? { |lane| @outdated[lane] > 1 }

      # The answer to the commit in flight.
      # @param results [Hash{Array(String, Integer) => Symbol, nil}] error code a partition, nil when acknowledged
      # @return [Hash{Symbol => Array}] :acknowledged entries, :again (the interval is shortened), :refused [entry, code] pairs
      def answered(token, results, now)
        return NOTHING unless token == @token && @in_flight
        entries, @in_flight = @in_flight, nil
        entries.each { |entry| count_outdated(entry.lane, results[entry.lane.key]) }
        sorted = entries.group_by { |entry| verdict(entry, results) }
        acknowledged = sorted.fetch(:ok, [])
        acknowledged.each do |entry|
          continue_with_metadata(entry.lane, now) if offset_committed(entry.lane)
          entry.lane.suspects&.acknowledged!
          entry.lane.commit_state.committed(entry.offset, entry.version) if entry.incarnation == entry.lane.incarnation
        end
        (entries - acknowledged).each { |entry| unwritten(entry.lane) }
        sorted.fetch(:refused, []).each { |entry| entry.lane.suspects&.refused! }
        schedule_retry(sorted.fetch(:again, []), now)
        {acknowledged: acknowledged, again: sorted.fetch(:again, []),
         refused: sorted.fetch(:refused, []).map { |entry| [entry, results[entry.lane.key]] }}
      end

      NOTHING = {acknowledged: [].freeze, again: [].freeze, refused: [].freeze}.freeze

      private

      def committable?(lane) = lane.owned? && lane.committable_offset && !lane.commit_state.undecided?

      def unwritten(lane)
        lane.attempts.unwritten!
        lane.suspects&.unwritten!
      end

      def forced?(lane, now) = @unconditional.fetch(lane, []).first&.<=(now)

      # Removes one of the unconditional commits: the first, the one a minute later, or a daily one, which the next follows.
      def sent_unconditionally(lane, now)
        times = @unconditional[lane] or return
        times.shift while !times.empty? && times.first <= now
        return unless times.empty?
        @keep_alive_ms ? times << (now + @keep_alive_ms) : @unconditional.delete(lane)
      end

      def count_outdated(lane, code)
        (code == :illegal_generation) ? @outdated[lane] += 1 : @outdated.delete(lane)
      end

      def verdict(entry, results)
        code = results[entry.lane.key]
        return :ok unless code
        return :again if entry.lane.owned? && (!PERMANENT.include?(code) || shorten(entry.lane, code))
        :refused
      end

      def shorten(lane, code)
        return false unless code == TOO_LARGE && !@bare.key?(lane)
        too_large(lane)
      end

      # The offset was sent alone. Its lane isn't settled until the metadata has followed: the last commit before a revocation or
      # a stop would otherwise have none, and all that is complete beyond the offset would run again.
      def continue_with_metadata(lane, now)
        @due_at = now
        @again |= [lane]
      end

      def schedule_retry(entries, now)
        return if entries.empty?
        @due_at = now + @retry_ms
        @again |= entries.map(&:lane)
      end
    end
  end
end
