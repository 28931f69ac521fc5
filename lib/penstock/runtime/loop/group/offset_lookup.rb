# frozen_string_literal: true

require_relative "../../../errors"
require_relative "../../../native/consumer"
require_relative "../../../processing/backoff"
require_relative "../../error_codes"
require_relative "lane_reset"

module Penstock
  module Runtime
    # Looks up where newly assigned lanes begin. The partitions are assigned at once, without offsets, so that the group doesn't
    # wait; their lanes are held until the committed offset and its metadata are read and decoded. Runs on the poll loop's
    # thread.
    #
    # An answer is dropped when the lane is gone, or open already: lanes are compared by identity, not by name. While there is
    # no answer, the request is repeated every {RETRY_MS}; `offsets.unavailable` reports it. A lane never opens without its
    # ledger: librdkafka reads the position from the same coordinator, so it could not fetch either, and records completed
    # beyond the offset would run again.
    #
    # Metadata that don't belong to their offset may have been damaged on the way: the request is repeated until an answer
    # comes a second time. That one is what the group has stored. Another program's are requested twice only: it may commit more
    # often than this asks. An offset without metadata has no checksum. It counts at once where librdkafka's own answer confirms
    # it ({Processing::StartCheck}), otherwise when it comes a second time.
    class OffsetLookup
      RETRY_MS = 250
      REQUEST_MS = 10_000
      # After this long without an answer, and then at this interval, `offsets.unavailable` is emitted.
      FIRST_REPORT_MS = 10_000
      REPORT_MS = 30_000
      DAMAGED = "each answer is another one: it is damaged on the way, or another program commits for this group"
      UNKNOWN = "the offsets of the topic's other partitions can't be read"
      # As many answers are remembered.
      ANSWERS = 8
      private_constant :RETRY_MS, :REQUEST_MS, :FIRST_REPORT_MS, :REPORT_MS, :DAMAGED, :UNKNOWN, :ANSWERS

      # A request in flight: its lanes, since when they wait, whether it is for all partitions of their topics, when the
      # wait is next reported, and the answers by lane that may be damaged.
      Request = Struct.new(:lanes, :since, :all, :report_at, :doubted) do
        def initialize(lanes, since, all, report_at = since + FIRST_REPORT_MS, doubted = {}.compare_by_identity) = super

        # @return [Request] for some of its lanes
        def for(lanes) = self.class.new(lanes, since, all, report_at, doubted)
      end

      # @param connection [ConnectionState]
      # @param codec [#decode]
      # @param committer [Committer]
      # @param source_begins [Symbol] where the connection begins without a committed offset
      # @param unstable [#call] called when a pending transaction blocks an offset
      # @param patched [Boolean] whether librdkafka reports which offsets transactions block; without our patches the request
      #   only times out
      def initialize(connection, codec:, committer:, source_begins: :earliest, unstable: -> {}, patched: Native.patched?)
        @unstable = unstable
        @patched = patched
        @source_begins = source_begins
        @lane_reset = LaneReset.new(connection, committer, method(:decode))
        @connection = connection
        @codec = codec
        @committer = committer
        @asked = {}
        @token = 0
        @retries = []
      end

      # @param lanes [Array<Processing::Lane>] just assigned, held under :opening
      def open(lanes, since: @connection.now)
        ask(Request.new(lanes, since, false)) unless lanes.empty?
      end

      # The lane's ledger may be wrong: a new incarnation begins at the group's committed offset, unless a seek begins another
      # one in the meantime.
      # @param lane [Processing::Lane]
      # @param base [Integer] where it begins if the group has no offset
      # @yield when the group has answered; not if the lane was revoked before that
      def reopen(lane, base, &opened)
        ask(Request.new([lane], @connection.now, false)) if @lane_reset.add(lane, base, waiting: opened)
      end

      # The source didn't begin at the lane's committed offset: one of two answers was wrong.
      # @param lane [Processing::Lane]
      # @param place [Integer] where the source began
      def confirm(lane, place)
        ask(Request.new([lane], @connection.now, false)) if @lane_reset.add(lane, lane.committable_offset, place: place)
      end

      # @param event [Array] the driver's answer
      def answered(event)
        _type, token, number, message, rows = event
        request = @asked.delete(token) or return
        lanes = still_waiting(request.lanes)
        return failed(request, lanes, message, number: number) unless number.zero?
        request.all ? open_uncommitted(request, lanes, rows) : settle(request, lanes, rows)
      end

      # @return [Integer, nil]
      def next_due = (@retries.map(&:first).min unless @retries.empty?)

      # Repeats the requests that are due.
      def run
        return if @retries.empty?
        now = @connection.now
        due, @retries = @retries.partition { |at, _question| at <= now }
        due.each { |_at, request| ask(request) }
      end

      private

      def ask(request)
        request.lanes = still_waiting(request.lanes)
        return if request.lanes.empty?
        @asked[@token += 1] = request
        @connection.driver.fetch_committed(@token, partitions(request), timeout_ms: REQUEST_MS)
      rescue SystemCallError => error # no thread can be started now
        @asked.delete(@token)
        failed(request, request.lanes, error.message)
      end

      def partitions(request)
        return request.lanes.map(&:key) unless request.all
        request.lanes.map(&:topic_name).uniq.map { |topic| [topic, Native::Consumer::ALL_PARTITIONS] }
      end

      # The lanes that are ours and wait for the answer.
      def still_waiting(lanes)
        lanes, gone = lanes.partition { |lane| @connection.current?(lane) }
        @lane_reset.forget(gone)
        lanes.select { |lane| lane.holds.include?(:opening) }
      end

      def settle(request, lanes, rows)
        answers = rows.to_h { |topic, partition, *rest| [[topic, partition], rest] }
        answered, unanswered = lanes.partition { |lane| answers[lane.key]&.at(3) == 0 }
        failed(request, unanswered, unanswered_reason(unanswered, answers), answers) unless unanswered.empty?
        uncertain, answered = answered.partition { |lane| uncertain?(request, lane, *answers[lane.key].first(2)) }
        repeat(request, uncertain) unless uncertain.empty?
        again, known = answered.partition { |lane| @lane_reset.include?(lane) }
        uncommitted = again.reject { |lane| @lane_reset.opened(lane, *answers[lane.key].first(2)) }
        fresh = (known + uncommitted).select { |lane| adopt(lane, *answers[lane.key]) == :new }
        ask(Request.new(fresh, request.since, true)) unless fresh.empty?
      end

      # @return [Boolean] whether an answer may have been damaged on the way: nothing shows that it wasn't, and no earlier answer
      #   was the same
      def uncertain?(request, lane, offset, metadata)
        metadata = metadata.to_s
        return false if metadata.empty? && !@lane_reset.include?(lane)
        earlier = (request.doubted[lane] ||= [])
        if accepted?(earlier, lane, offset, metadata)
          request.doubted.delete(lane)
          return false
        end
        earlier.shift if earlier.size == ANSWERS
        earlier << [offset, metadata]
        true
      end

      def accepted?(earlier, lane, offset, metadata)
        return true if earlier.include?([offset, metadata])
        return false if metadata.empty?
        ignored = @codec.decode(lane, offset, metadata).ignored
        (ignored.nil? && !offset.negative?) || (ignored == :foreign && earlier.any?)
      end

      # The first repetition is made at once: most metadata of this kind are another program's.
      def repeat(request, lanes)
        once, more = lanes.partition { |lane| request.doubted[lane].size == 1 }
        ask(request.for(once)) unless once.empty?
        failed(request, more, DAMAGED)
      end

      def unanswered_reason(lanes, answers)
        answer = answers[lanes.first.key] or return "the coordinator's answer doesn't name the partition"
        blocked_by_transaction?(answer) ? "an open transaction holds the offset" : Native.error_text(answer[3])
      end

      # @return [Symbol, nil] :new when it depends on whether the group already consumes the topic
      def adopt(lane, offset, metadata, _epoch, _number)
        if offset.negative?
          report_ignored(lane, offset, :damaged) unless metadata.nil? || metadata.empty?
          return uncommitted(lane)
        end
        opened(lane, offset, decode(lane, offset, metadata))
      end

      # Where the lane wouldn't begin where its source does, the group is asked once more.
      def uncommitted(lane)
        return :new unless lane.topic.initial_offset.to_s == "earliest" && @source_begins == :earliest
        opened(lane, nil)
        begin_at(lane, :earliest)
      end

      # In librdkafka all topics of a connection begin at the same place; where a route specifies another, the lane seeks.
      def begin_at(lane, place)
        began = lane.takes.start.place
        @connection.driver.seek(lane.assignment.source, began) if began # its records from there weren't taken
        lane.takes.begin_at = place unless place == @source_begins || place == :error || @source_begins == :error
        nil
      end

      # @param unclean [Integer, nil] takes precedence over the metadata: how many previous owners in a row didn't end cleanly
      # @return [Array<Array(Integer, Integer)>] completed offsets beyond the committed one
      def decode(lane, offset, metadata, unclean = nil)
        lane.commit_state.adopted_metadata = nil
        return [] if metadata.nil? || metadata.empty?
        decoded = @codec.decode(lane, offset, metadata)
        lane.commit_state.adopted_metadata = decoded.user_metadata
        wait_again(lane, decoded.attempts) if decoded.attempts.any?
        suspect(lane, decoded, unclean || decoded.unclean_adoptions) unless decoded.ignored
        report_ignored(lane, offset, decoded.ignored) unless decoded.ignored.nil? || decoded.ignored == :foreign
        decoded.completed
      end

      def suspect(lane, decoded, unclean)
        lane.suspects&.adopt(unclean: unclean, crashes: decoded.crashes, clean: decoded.clean)
      end

      def report_ignored(lane, offset, reason)
        @connection.emit("offsets.metadata_ignored", {topic: lane.topic_name, partition: lane.partition, offset: offset,
          reason: reason})
      end

      # Attempts survive their owner. Records that were being retried wait their back-off again from now, so that a record
      # passed from one process to the next doesn't run more often than otherwise.
      def wait_again(lane, attempts)
        backoff = Processing::Backoff.of(lane.topic.pause)
        lane.retry_adopted(attempts, @connection.now + backoff.delay_ms(attempts.values.max))
      end

      # A partition without a commit was added later if the group has committed offsets of its topic: records written to it
      # before it was assigned to us are ours to consume.
      #
      # A topic of which no offset could be read, because a transaction holds them or the answer is damaged, isn't known to be
      # new: it is asked for again.
      def open_uncommitted(request, lanes, rows)
        committed = rows.filter_map { |row| row[0] if row[2] >= 0 }
        unknown = rows.filter_map { |row| row[0] if row[2].negative? && (row[5] != 0 || !row[3].to_s.empty?) } - committed
        waiting, lanes = lanes.partition { |lane| unknown.include?(lane.topic_name) }
        failed(request, waiting, UNKNOWN, refused_of(waiting, rows))
        found, lanes = lanes.partition { |lane| rows.any? { |row| row.first(2) == lane.key && row[2] >= 0 } }
        ask(Request.new(found, request.since, false)) unless found.empty? # only one of the two answers can be right
        lanes.each do |lane|
          opened(lane, nil)
          begin_at(lane, committed.include?(lane.topic_name) ? :earliest : lane.topic.initial_offset.to_sym)
        end
      end

      # @return [Hash{Array => Array}] by lane, the answer for another partition of its topic
      def refused_of(lanes, rows)
        lanes.to_h { |lane| [lane.key, rows.find { |row| row[0] == lane.topic_name && row[5] != 0 }&.drop(2)] }.compact
      end

      def opened(lane, offset, completed = [])
        lane.adopt(offset, completed)
        lane.takes.resets_to_end = @source_begins == :latest
        lane.takes.start.to_end = lane.takes.resets_to_end && lane.topic.initial_offset.to_s == "latest"
        lane.recording&.adopted(offset, completed)
        lane.assignment.source.cursor = offset if offset
        @connection.driver.seek(lane.assignment.source, offset) if offset && lane.takes.start.place # it is elsewhere
        lane.holds.release(:opening)
        lane.takes.ready = true
        @committer.adopted(lane)
        nil
      end

      # @param number [Integer] of the error of the whole request
      def failed(request, lanes, reason, answers = {}, number: 0)
        return if lanes.empty?
        blocked = lanes.any? { |lane| blocked_by_transaction?(answers[lane.key]) }
        @unstable.call if blocked || (!@patched && ErrorCodes.of(number) == :timed_out)
        rest = request.for(lanes)
        report(rest, reason)
        @retries << [@connection.now + RETRY_MS, rest]
      end

      # Whether a pending transaction blocks the offset.
      def blocked_by_transaction?(answer) = !answer.nil? && ErrorCodes.of(answer[3]) == :unstable_offset_commit

      def report(request, reason)
        now = @connection.now
        return if now < request.report_at
        request.report_at = now + REPORT_MS
        request.lanes.each do |lane|
          @connection.emit("offsets.unavailable", {topic: lane.topic_name, partition: lane.partition,
            waited_ms: now - request.since, reason: reason})
        end
      end
    end
  end
end
