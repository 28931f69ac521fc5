# frozen_string_literal: true

require_relative "../../../assignment/commits"
require_relative "../../../errors"
require_relative "../../error_codes"

module Penstock
  module Runtime
    # Commits offsets and handles the brokers' answers. One commit is in flight at a time. Runs on the poll loop's thread.
    class Committer
      # Answers that mean that this member is no longer in the group: its lanes are lost.
      EXPELLED = %i[unknown_member_id fenced_instance_id fenced_member_epoch].freeze

      # @param connection [ConnectionState]
      # @param codec [#encode] metadata for a lane's commit
      # @param interval_ms [Integer]
      # @param keep_alive_ms [Integer, nil] interval at which unchanged offsets are committed
      # @param expelled [#call] called when an answer shows that the member is no longer in the group
      def initialize(connection, codec:, interval_ms:, expelled:, keep_alive_ms: nil)
        @connection = connection
        @codec = codec
        @commits = Assignment::Commits.new(interval_ms, keep_alive_ms: keep_alive_ms)
        @expelled = expelled
        @wanted = []
        @waits = []
        @clean = {}
        @reported_again = false
      end

      # Called when offsets may have moved: a commit is due after the interval.
      def schedule_commit
        @commits.start_interval(@connection.now) unless @commits.interval_started?
      end

      # @param lane [Processing::Lane] whose offset was read. It counts once the source has confirmed it
      def adopted(lane) = (@commits.adopted(lane, @connection.now) if lane.takes.start.confirmed?)

      # @param lane [Processing::Lane] no longer ours: nothing of it is sent again, and threads waiting for its commit get false
      def forget(lane)
        @commits.forget(lane)
        @wanted.delete(lane)
        @clean.delete(lane)
        resolve(false) { |wait| wait.lane.equal?(lane) }
      end

      # @param lanes [Array<Processing::Lane>] whose revocation begins
      def leaving(lanes) = @commits.reset_outdated(lanes)

      # Commits these lanes as soon as no other commit is in flight.
      # @param clean [Boolean] the owner ends in order: the metadata records it, even when no offset moved. Marks that the
      #   user's threads make from here on are in no commit, and aren't answered true
      def request_commit(lanes, clean: false)
        lanes.each do |lane|
          @wanted << lane unless @wanted.include?(lane)
          next unless clean
          @clean[lane] ||= :wanted
          lane.marks.cut_off!
        end
        run
      end

      # A worker waits until the marks of its lane are acknowledged.
      # @param wait [CommitWait]
      def wait(wait)
        return wait.resolve(false) unless @connection.current?(wait.lane) && wait.lane.owned?
        return wait.resolve(true) unless wait.lane.takes.start.confirmed? # nothing was taken, so nothing was marked
        @waits << wait
        request_commit([wait.lane])
      end

      # @return [Boolean] whether no commit of these lanes is wanted or under way
      def settled?(lanes) = (@wanted & lanes).empty? && !@commits.unsettled?(lanes)

      # For a doubtful lane it counts only whether a commit is under way: it has nothing else to commit until the group's offset
      # is read, and its next owner reads that too.
      # @param lanes [Array<Processing::Lane>] about to be revoked
      # @return [Boolean]
      def settled_or_doubtful?(lanes)
        (@wanted & lanes).all? { |lane| lane.commit_state.doubtful? } && !@commits.unsettled?(lanes)
      end

      # @param lane [Processing::Lane]
      # @return [Boolean] whether no commit of it is wanted or under way, so that a transaction may carry its offset
      def free_for_transaction?(lane) = settled?([lane])

      # @param lane [Processing::Lane]
      # @return [Boolean] whether its offset is sent without metadata because the broker found the metadata too long
      def bare?(lane) = @commits.bare?(lane)

      # A transaction's metadata was too long for the broker.
      # @param lane [Processing::Lane]
      # @param bytes [Integer]
      def too_large(lane, bytes)
        @commits.too_large(lane)
        report_reduced(lane, bytes)
      end

      # Metadata was omitted from a commit.
      # @param lane [Processing::Lane]
      # @param bytes [Integer]
      def report_reduced(lane, bytes)
        @connection.emit("offsets.metadata_reduced", {topic: lane.topic_name, partition: lane.partition, bytes: bytes})
      end

      # A transaction has committed the lane's offset.
      # @param lane [Processing::Lane]
      def carried(lane)
        @commits.offset_committed(lane)
        schedule_commit
      end

      # A revocation must not wait for such a commit: the member rejoins only after the revocation is answered, so it would wait
      # until the group expels the member.
      #
      # @param lanes [Array<Processing::Lane>]
      # @return [Boolean] whether commits of these lanes will be refused until the member rejoins its group
      def outdated?(lanes) = @commits.outdated?(lanes)

      # Emits an error for each offset that stays uncommitted: its records run again.
      # @param lanes [Array<Processing::Lane>] about to be revoked
      def abandon(lanes)
        code = outdated?(lanes) ? :illegal_generation : :timed_out
        lanes.each { |lane| report(@commits.entry(lane), code) if stays_uncommitted?(lane) }
      end

      # @return [Boolean] whether a thread waits for an acknowledgement, or a commit is about to be sent
      def awaited? = @waits.any? || @wanted.any? { |lane| !lane.commit_state.undecided? }

      # @return [Integer, nil] monotonic ms of the next run
      def next_due = @commits.next_due

      # Sends the commits that are due.
      def run
        return if @commits.in_flight?
        now = @connection.now
        schedule_commit if !@commits.interval_started? && @connection.all.any? { |lane| marked?(lane) }
        due = @commits.next_due
        by_interval = due && due <= now
        return if !by_interval && @wanted.all? { |lane| lane.commit_state.undecided? }
        send_lanes(by_interval ? @connection.all : @wanted, now, by_interval)
      end

      # @param event [Array] the driver's answer
      def answered(event)
        _type, token, number, _message, rows = event
        results = codes(rows, number)
        answer = @commits.answered(token, results, @connection.now)
        written(answer, results)
        acknowledged(answer[:acknowledged])
        refused(answer[:refused])
        answer[:again].each { |entry| @clean[entry.lane] = :wanted if @clean[entry.lane] }
        reduced(answer[:again], results)
        report_again(answer[:again], results)
        run
      end

      # Called when no answers are read any more: every waiting thread gets false.
      def close = resolve(false) { true }

      private

      def stays_uncommitted?(lane)
        lane.owned? && lane.committable_offset && lane.commit_state.uncommitted? && !lane.commit_state.doubtful?
      end

      # Checks for marks that weren't read yet, because marking doesn't wake the loop. After a mark a call may take another hour,
      # or no unit may run at all, so that no other event causes a commit.
      def marked?(lane)
        base = lane.ledger.base
        return false unless base && lane.owned?
        return lane.marks.through > base unless lane.by_key?
        lane.division.each_mark(base) { |unit| return true if marked_in?(unit, lane) }
        false
      end

      # Where keys run in parallel, a mark covers the records before it in its own unit.
      def marked_in?(unit, lane)
        through = unit.marks.through
        !through.negative? && unit.incarnation == lane.incarnation && !lane.ledger.complete?(through)
      end

      def send_lanes(lanes, now, all)
        lanes = decided(lanes, all)
        lanes.each { |lane| read_marks(lane) if lane.owned? }
        forced, @wanted = @wanted.partition { |lane| !lane.commit_state.undecided? }
        entries = entries_of(lanes, forced, now)
        resolve_unchanged(forced - entries.map(&:lane))
        return (@commits.nothing_due if all) if entries.empty?
        entries.each { |entry| write(entry) }
        token = @commits.sent(entries, now, all: all)
        @connection.driver.commit(token, entries.map { |entry| row(entry) })
      end

      # Nothing may be committed while a transaction carries the lane's offset, nor while the right offset isn't known. A
      # commit that the interval made due is sent once it may be; a lane that hasn't begun has none.
      # @return [Array<Processing::Lane>] those that may be committed now
      def decided(lanes, all)
        undecided, decided = lanes.partition { |lane| lane.commit_state.undecided? }
        @wanted |= undecided.select { |lane| lane.owned? && lane.takes.start.confirmed? } if all && undecided.any?
        decided
      end

      def read_marks(lane)
        lane.recording&.marks
        lane.take_marks
        lane.suspects&.update(lane.ledger, @connection.now)
      end

      def entries_of(lanes, forced, now)
        due = @commits.due(lanes, now)
        clean = (lanes | forced).select { |lane| @clean[lane] == :wanted && lane.owned? && lane.committable_offset }
        due + (clean - due.map(&:lane)).map { |lane| @commits.entry(lane) }
      end

      def write(entry)
        entry.metadata = metadata(entry)
        @clean[entry.lane] = :written if @clean[entry.lane]
        entry.lane.recording&.commit(entry, @clean.key?(entry.lane))
      end

      def written(answer, results)
        [*answer[:acknowledged], *answer[:again], *answer[:refused].map(&:first)].each do |entry|
          entry.lane.recording&.committed(entry, results[entry.lane.key])
        end
      end

      # These lanes have nothing left to commit: their marks are committed already.
      def resolve_unchanged(lanes)
        resolve(true) { |wait| lanes.include?(wait.lane) && wait.lane.owned? } unless lanes.empty?
      end

      def row(entry) = [entry.lane.topic_name, entry.lane.partition, entry.offset, entry.metadata, entry.leader_epoch]

      def metadata(entry)
        return if @commits.bare?(entry.lane)
        @codec.encode(entry.lane, entry.offset, clean: @clean.key?(entry.lane))
      end

      def codes(rows, number)
        all = number.zero? ? nil : ErrorCodes.of(number)
        rows.to_h do |topic, partition, _offset, each|
          [[topic, partition], all || (each.zero? ? nil : ErrorCodes.of(each))]
        end
      end

      def acknowledged(entries)
        return if entries.empty?
        lanes = entries.map(&:lane)
        resolve(true) { |wait| lanes.include?(wait.lane) && !@wanted.include?(wait.lane) }
        @connection.emit("offsets.committed", {subscription_group_id: @connection.group.id,
          offsets: entries.map { |entry| [entry.lane.topic_name, entry.lane.partition, entry.offset] }})
      end

      def refused(pairs)
        return if pairs.empty?
        pairs.each { |entry, code| report(entry, code) }
        schedule_commit if pairs.any? { |entry, _code| entry.lane.owned? }
        lanes = pairs.map { |entry, _code| entry.lane }
        resolve(false) { |wait| lanes.include?(wait.lane) }
        @expelled.call if pairs.any? { |_entry, code| EXPELLED.include?(code) }
      end

      def report(entry, code)
        fate = (code == :timed_out) ? "wasn't acknowledged in time: what it completes runs again" : "was refused"
        error = error_of(code, "commit of #{entry.lane.topic_name}/#{entry.lane.partition} at #{entry.offset} #{fate}")
        @connection.emit("error.occurred", {type: "offsets.commit.error", error: error,
          topic: entry.lane.topic_name, partition: entry.lane.partition})
      end

      # The broker accepts less metadata than ours: the offset is sent alone.
      def reduced(entries, results)
        entries.each do |entry|
          next unless results[entry.lane.key] == Assignment::Commits::TOO_LARGE
          report_reduced(entry.lane, entry.metadata.to_s.bytesize)
        end
      end

      # Emits `offsets.commit_retried` once per episode: a group in a rebalance refuses every attempt until the rebalance ends.
      def report_again(entries, results)
        return @reported_again = false if entries.empty?
        return if @reported_again
        @reported_again = true
        @connection.emit("offsets.commit_retried", {subscription_group_id: @connection.group.id,
          offsets: entries.map { |entry| [entry.lane.topic_name, entry.lane.partition, entry.offset] },
          error: error_of(results.values.compact.first, "refused for now")})
      end

      def error_of(code, message) = KafkaError.build(number: 0, name: code.to_s, message: message)

      def resolve(answer)
        done, @waits = @waits.partition { |wait| yield(wait) }
        done.each { |wait| wait.resolve(answer) }
      end
    end
  end
end
