# frozen_string_literal: true

module Penstock
  module Assignment
    # Which offsets are to be committed when, and what an answer means. Pure: the loop sends what {#due} lists and hands the
    # answer back. One commit is in flight at a time: an outstanding commit keeps new partitions from starting, and a second
    # one could overtake it.
    #
    # An adopted lane is committed once without having moved, at its first interval and again a minute later: that overwrites
    # a commit of an earlier owner that was still under way.
    class Commits
      # Errors after which sending the same offsets again at once makes no sense; after all others they are, while the lane is
      # ours, because the client library doesn't do it for us.
      #
      # An illegal generation isn't one of them: a commit that is sent while the member's JoinGroup is under way waits behind it
      # (a broker serves a connection's requests one by one) and meets the next generation. The lanes that stay are ours in
      # both; a lane that isn't was revoked in between, and what isn't owned is never sent again.
      PERMANENT = %i[unknown_member_id fenced_instance_id fenced_member_epoch fenced fatal assignment_lost
        offset_metadata_too_large invalid_commit_offset_size topic_authorization_failed group_authorization_failed
        cluster_authorization_failed unknown_topic_or_part unknown_topic_id invalid_group_id group_id_not_found no_offset
        unsupported_version invalid_request destroy].freeze
      # The broker refuses the length of the metadata: the offset alone is sent.
      TOO_LARGE = :offset_metadata_too_large
      REPEAT_AFTER_MS = 60_000
      # Bytes below which there is no room for anything worth having: a bare envelope takes 29, with two counts of crashes 48.
      LEAST_BUDGET = 64
      private_constant :LEAST_BUDGET

      # One partition's share of a commit.
      Entry = Struct.new(:lane, :offset, :metadata, :leader_epoch, :incarnation, :version)

      attr_reader :interval_ms

      # @param interval_ms [Integer]
      # @param retry_ms [Integer] pause before offsets are sent again after a refusal
      def initialize(interval_ms, retry_ms: 200)
        @interval_ms = interval_ms
        @retry_ms = retry_ms
        @due_at = nil
        @in_flight = nil
        @unconditional = {}
        @bare = {}
        @again = []
        @outdated = Hash.new(0)
        @token = 0
      end

      # @return [Boolean]
      def in_flight? = !@in_flight.nil?

      # @return [Integer, nil] monotonic ms of the next commit by interval
      def next_due
        return if in_flight?
        soonest = @due_at
        @unconditional.each do |lane, times|
          due = times.first
          soonest = due if due && (soonest.nil? || due < soonest) && lane.owned? && lane.position && !lane.undecided?
        end
        soonest
      end

      # Something may have moved, or a lane was adopted: the interval runs.
      def touch(now)
        @due_at ||= now + @interval_ms
      end

      # @return [Boolean] whether the interval runs: every outcome asks
      def touched? = !@due_at.nil?

      # @param lane [Processing::Lane]
      def adopted(lane, now)
        @unconditional[lane] = [now + @interval_ms, now + @interval_ms + REPEAT_AFTER_MS]
        touch(now)
      end

      # @param lane [Processing::Lane] given up
      def forget(lane)
        @unconditional.delete(lane)
        @bare.delete(lane)
        @outdated.delete(lane)
      end

      # What was answered before spoke of generations that this member has left behind; whether the one in which the lanes are
      # revoked is over too, only later answers tell.
      #
      # @param lanes [Array<Processing::Lane>] about to be given up
      def leaving(lanes) = lanes.each { |lane| @outdated.delete(lane) }

      # @param lanes [Array<Processing::Lane>]
      # @return [Array<Entry>] what an interval's commit holds, marks taken in before
      def due(lanes, now)
        wanted = lanes.select { |lane| lane.owned? && lane.position && (lane.uncommitted? || forced?(lane, now)) }
        wanted.map { |lane| entry(lane) }
      end

      # @return [Entry]
      def entry(lane)
        position = lane.position
        version = bare?(lane) ? nil : lane.ledger.version
        Entry.new(lane, position, nil, lane.leader_epochs.below(position), lane.incarnation, version)
      end

      # @return [Boolean] whether the offset goes without metadata because the broker found it too long
      def bare?(lane) = @bare.key?(lane)

      # The metadata are too long for this broker: the offset goes alone, and from then on the lane has half the room. Below what
      # any metadata needs it stays alone.
      # @param lane [Processing::Lane]
      def too_large(lane)
        lane.ledger.budget /= 2
        @bare[lane] = true
      end

      # The lane's offset is committed; if it went alone the next commit tries again with what room there is.
      # @param lane [Processing::Lane]
      def went(lane)
        return unless lane.ledger.budget >= LEAST_BUDGET
        return unless @bare.delete(lane)
        unwritten(lane) # what it could not say the next one does
        lane.suspects&.refused!
      end

      # @param entries [Array<Entry>] just handed to the driver
      # @param all [Boolean] whether every lane was asked; else those that moved are still due
      # @return [Integer] token that the answer carries
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

      # The interval came and nothing had moved.
      def nothing_due
        @due_at = nil
        @again = []
      end

      # @return [Boolean] whether a commit of one of the lanes is under way, or was refused and is about to be sent again
      def unsettled?(lanes)
        under_way = @in_flight&.map(&:lane) || []
        under_way.intersect?(lanes) || @again.any? { |lane| lanes.include?(lane) && lane.owned? }
      end

      # Two answers in a row since the lanes began to leave spoke of another generation. The first may be that of a commit sent
      # before the member had joined it; the second means that the group has gone on without this member, and nothing will be
      # accepted before it joins again.
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
          went(entry.lane)
          entry.lane.suspects&.acknowledged!
          entry.lane.committed!(entry.offset, entry.version) if entry.incarnation == entry.lane.incarnation
        end
        (entries - acknowledged).each { |entry| unwritten(entry.lane) }
        sorted.fetch(:refused, []).each { |entry| entry.lane.suspects&.refused! }
        again(sorted.fetch(:again, []), now)
        {acknowledged: acknowledged, again: sorted.fetch(:again, []),
         refused: sorted.fetch(:refused, []).map { |entry| [entry, results[entry.lane.key]] }}
      end

      NOTHING = {acknowledged: [].freeze, again: [].freeze, refused: [].freeze}.freeze

      private

      def unwritten(lane)
        lane.attempts.unwritten!
        lane.suspects&.unwritten!
      end

      def forced?(lane, now) = @unconditional.fetch(lane, []).first&.<=(now)

      # Twice: now, and a minute later.
      def sent_unconditionally(lane, now)
        times = @unconditional[lane]
        times.shift while times && !times.empty? && times.first <= now
        @unconditional.delete(lane) if times && times.empty?
      end

      def count_outdated(lane, code)
        (code == :illegal_generation) ? @outdated[lane] += 1 : @outdated.delete(lane)
      end

      def verdict(entry, results)
        code = results[entry.lane.key]
        return :ok unless code
        return :again if entry.lane.owned? && (!PERMANENT.include?(code) || shortened?(entry.lane, code))
        :refused
      end

      def shortened?(lane, code)
        return false unless code == TOO_LARGE && !@bare.key?(lane)
        too_large(lane)
      end

      def again(entries, now)
        return if entries.empty?
        @due_at = now + @retry_ms
        @again |= entries.map(&:lane)
      end
    end
  end
end
