# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Finds the record that kills the process, without slowing down the others. After an owner that didn't end cleanly the
      # first records of a lane are *suspects*, and none of them runs until a commit that names it is acknowledged:
      #
      # * At first they run in *groups*, in parallel where the route runs keys in parallel. This only finds out which records were
      #   running when a process died. Groups are small, and follow each other without a pause.
      # * Records that were running together when the process died then run *alone* in their lane, one after another. Only a
      #   record that was alone is counted, and a record that was counted too often isn't run again.
      #
      # Where user code runs in a process of its own (`remote`), the record that killed it is known at once: it is counted, and
      # nothing else is suspected.
      #
      # One per lane, owned by it. States of a lane: not `recorded` (nothing is handed out until a commit has recorded that this
      # process has the lane, and hasn't ended cleanly) → `recorded` → calm, when all suspects have run. States of a suspect:
      # waiting → announced (it goes into the next commit; its unit is held) → cleared (that commit is acknowledged: it runs) →
      # ended. A counted suspect stays known until a commit without its count is acknowledged: before that, a process that dies of
      # another record would count against it.
      #
      # Interruptions: a call back withdraws the announcement; a seek drops everything; revoking the lane in order withdraws it
      # too, because nothing died; a lane that is reopened at the group's offset may read what this process announced itself: that
      # isn't a death.
      class CrashCounts
        # Most suspects, and how long records are suspected: those that may have been buffered when the process died. Records
        # that come later will be the first of the lane next time, because each commit moves the offset as long as there are
        # suspects.
        MAX_SUSPECTS = 1_000
        MAX_MS = 4_000
        # Unclean adoptions in a row from which on an event is worth it.
        NOTABLE = 2
        # Records of a group at first, and at most. A group shouldn't take much longer than the commit that announces it.
        GROUP_SIZE = (8..32)
        GROUP_US = 100_000
        # The latest duration counts for an eighth of the average.
        WEIGHT = 8
        private_constant :GROUP_US, :WEIGHT

        # A unit that waits until it is announced. `sent`: the announcing commit is under way; `cleared`: it is acknowledged.
        Held = Struct.new(:unit, :sent, :cleared)
        private_constant :Held

        # @return [Integer] unclean adoptions in a row, as written to the next commit
        attr_reader :unclean

        # @return [true, :requested, nil] whether the adoption is committed
        attr_accessor :recorded

        # Whether the commit is under way that records the end of a counted suspect.
        attr_writer :clearing

        # @param policy [Routing::Quarantine]
        # @param remote [Boolean] whether user code runs in another process
        def initialize(policy, remote: false)
          @policy = policy
          @remote = remote
          @recorded = true if remote
          @unclean = 0
          @crashes = {}
          @group = {}
          @own = {}
          @ended = {}
          @held = []
          @remaining = 0
          @end = @record_us = nil
          @changed = !remote
          @clearing = @refused = @leaving = false
        end

        # Takes over the adopted commit's state, if Penstock wrote it: nothing follows from the commit of a new group, from
        # foreign metadata, or from what this process has announced, as it is alive.
        # @param unclean [Integer] adoptions in a row; -1: this process's own commit, which was clean, is read again
        # @param crashes [Hash{Integer => Integer}] by offset; 0: was running together with others when the process died
        # @param clean [Boolean] whether the former owner ended in order
        def adopt(unclean:, crashes:, clean:)
          @crashes = crashes.to_h { |offset, count| [offset, without_own(offset, count)] }.compact
          return if clean || @remote
          @unclean = unclean + 1
          @remaining = MAX_SUSPECTS if @unclean.positive?
        end

        # @return [Boolean] whether no record has to be checked before it runs, and no commit is awaited
        def nothing_to_check?
          @recorded == true && @crashes.empty? && @remaining.zero? && @announced.nil? && @group.empty? && @held.empty?
        end

        # @return [Boolean] whether the lane hands out one unit at a time
        def one_at_a_time? = !@remote && @crashes.any? { |_offset, count| count < @policy.max_crashes }

        # Sets where the log ended when the first records were buffered: later records can't have killed a process.
        # @param offset [Integer, nil] nil: unknown
        # @param now [Integer] monotonic ms
        # @return [Boolean] whether it is set for the first time, and there are suspects
        def set_end(offset, now)
          return false if @remaining.zero? || @end
          @end = offset || Float::INFINITY
          @until = now + MAX_MS
          true
        end

        # @return [Boolean] whether an event should be emitted: a single killed process isn't worth one
        def notable? = @unclean >= NOTABLE || @crashes.any?

        # Forgets records that were completed without running here, and ends the suspicion when all suspects have run or the time
        # is up.
        # @param ledger [Ledger]
        # @param now [Integer] monotonic ms
        def update(ledger, now)
          @crashes.delete_if { |offset, _count| ledger.complete?(offset) }
          end_suspicion if @remaining.positive? && @end && (now >= @until || all_ended?(ledger))
        end

        # @return [Boolean] whether the record may only run when it is announced, or not at all
        def suspect?(offset)
          return true if @crashes.key?(offset)
          @remaining.positive? && (@end.nil? || offset < @end) && !@ended.key?(offset)
        end

        # @return [Boolean] whether it must be the only running one of its lane, or must not run at all
        def must_run_alone?(offset) = @crashes.key?(offset)

        # @return [Boolean] whether it must not run at all
        def quarantined?(offset) = @announced != offset && crashes_of(offset) >= @policy.max_crashes

        # @return [Integer] how often the process died while it was the only one to run
        def crashes_of(offset) = @crashes.fetch(offset, 0)

        # @return [Boolean] whether no suspect of another lane may run at the same time: it was counted before, maybe because of
        #   such a record
        def exclusive?(offset) = crashes_of(offset).positive? || @policy.max_crashes == 1

        # Decides about the next record of its lane that must run apart from others.
        # @return [:run, :announce, :quarantine] :announce: commit, then it may run
        def step(offset)
          return :quarantine if quarantined?(offset)
          @remote ? :run : :announce
        end

        # Computes how many records may be announced in addition to those that are announced already.
        # @param width [Integer] units of the lane that may run at once
        # @param most [Integer] number of records a commit has room for
        # @return [Integer]
        def room(width, most = Float::INFINITY) = [[limit(width), most].min - @group.size, 0].max

        # Announces a group: from the next commit on, a crash makes its records suspects that must run alone.
        # @param unit [Unit] held until that commit is acknowledged
        def announce_group(unit)
          unit.messages.offsets.each { |offset| @group[offset] = @own[offset] = 0 }
          hold(unit)
        end

        # Announces one record: from the next commit on a crash counts against it.
        # @param unit [Unit] of that record, held until that commit is acknowledged
        def announce(unit)
          @announced = unit.messages.first_offset
          @counted = true
          count(@announced)
          @own[@announced] = @crashes[@announced]
          hold(unit)
        end

        # @return [Boolean] whether a suspect is announced or runs, or the committed metadata may still name one
        def announced? = !@announced.nil? || !@group.empty? || @clearing

        # @return [Boolean] whether units wait until they are announced
        def held? = !@held.empty?

        # @return [Boolean] whether the broker rejected the announcement, or had no room for it
        def refused? = @refused

        # @return [Array<Unit>] all held units; they aren't held any more
        def take_held
          @refused = false
          @held.slice!(0..).map(&:unit)
        end

        # @return [Array<Unit>] those whose commit is acknowledged, in order
        def take_cleared
          cleared, @held = @held.partition(&:cleared)
          cleared.map(&:unit)
        end

        # Units came back without having run.
        # @param units [Array<Unit>]
        def returned(units)
          units.each do |unit|
            next unless unit.consume?
            forget(unit)
            next unless announced_in?(unit)
            uncount
            @announced = nil
          end
        end

        # A unit ended, with or without an error: nothing counts against its records any more.
        # @param unit [Unit]
        # @param died [Integer, nil] the record that killed the process it ran in
        # @param time_us [Integer, nil] its duration
        # @return [Boolean] whether it ran alone: a commit counts it
        def ended(unit, died: nil, time_us: nil)
          announced = announced_in?(unit)
          @announced = nil if announced
          forget(unit)
          record_time(time_us / unit.messages.size) if time_us
          unit.messages.offsets.each { |offset| end_suspect(offset) unless offset == died }
          count(died) if died
          announced
        end

        # The lane is being revoked in order: the process lives.
        def leave
          uncount
          @changed = true unless @group.empty?
          @leaving = true
        end

        # The lane begins again elsewhere.
        def clear
          @crashes.clear
          end_suspicion
        end

        # @return [Boolean] whether the next commit differs from the last
        def changed? = @changed

        # A commit with the present state is under way.
        def written!
          @changed = false
          @held.each { |held| held.sent = true }
        end

        # The commit was not acknowledged.
        def unwritten!
          @changed = true
          @held.each { |held| held.sent = false }
        end

        # The commit is acknowledged: the announced units may run, and the group knows of nothing else of this process.
        def acknowledged!
          @held.each { |held| held.cleared = true if held.sent }
          @own.select! { |offset, _count| offset == @announced || @group.key?(offset) }
        end

        # The commit won't be acknowledged with its present content.
        def refused! = @refused = held?

        # @param base [Integer] lower offsets don't count any more
        # @return [Hash{Integer => Integer}] for the commit's envelope, ascending
        def counts(base)
          all = @leaving ? @crashes : @group.merge(@crashes)
          all.select { |offset, _count| offset >= base }.sort.to_h
        end

        # @return [Hash] for snapshots
        def to_h = {unclean: @unclean, left: @remaining, crashes: @crashes.dup, together: @group.size}

        private

        def announced_in?(unit) = !@announced.nil? && unit.consume? && unit.messages.first_offset == @announced

        # A commit may announce more quick records than slow ones, and at least one per worker.
        def limit(width)
          return [GROUP_SIZE.begin, width + 1].max unless @record_us
          (GROUP_US * width / [@record_us, 1].max).clamp(width + 1, [GROUP_SIZE.end, width + 1].max)
        end

        def record_time(record_us)
          @record_us = @record_us ? @record_us + ((record_us - @record_us) / WEIGHT) : record_us
        end

        def hold(unit)
          @changed = true
          @held << Held.new(unit, false, false)
        end

        def forget(unit) = unit.messages.offsets.each { |offset| @group.delete(offset) }

        # Whether all records that existed at the beginning have ended.
        def all_ended?(ledger)
          return false if ledger.tail < @end
          incomplete = ledger.incomplete_offsets(@ended.size + 1)
          incomplete.all? { |offset| offset >= @end || @ended.key?(offset) }
        end

        def end_suspect(offset)
          @changed = true if @crashes.delete(offset)
          return unless suspect?(offset)
          @ended[offset] = true
          @remaining -= 1
          end_suspicion if @remaining.zero?
        end

        # Ends the suspicion: the first records have ended, so a later crash begins a new series.
        def end_suspicion
          @changed = true
          @unclean = @remaining = 0
          @ended.clear
        end

        # @return [Integer, nil] the group's count of the record, without this process's own; nil if nothing is left
        def without_own(offset, count)
          own = @own[offset]
          return count if own.nil? || offset == @announced || count < own
          return count - 1 if own.positive?
          count if count.positive?
        end

        def count(offset)
          @changed = true
          @crashes[offset] = crashes_of(offset) + 1
        end

        def uncount
          return unless @announced && @counted
          @counted = false
          @changed = true
          @crashes[@announced] -= 1 if @crashes.key?(@announced) # not after a seek, nor if it was completed elsewhere
        end
      end
    end
  end
end
