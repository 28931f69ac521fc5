# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Finds the record that kills the process, without slowing down the others. After an owner that didn't end cleanly the first
      # records of a lane are *suspects*, and none runs before a commit is acknowledged that says so:
      #
      # * at first in *groups*, side by side where the route has it so: this only finds out which records were under way when a
      #   process died. Groups are small, and follow each other without a pause;
      # * those that were under way together when the process died run *alone* in their lane, one after another. Only a record
      #   that was alone is counted, and one that was so too often isn't run again.
      #
      # Where user code runs in processes of its own (`remote`) the record that took one along is known at once: it is counted,
      # and nothing else is suspected.
      #
      # One a lane, owned by it. States of a lane: untold (nothing is handed out before a commit has said that we are here, and
      # not clean) → told → calm, when all suspects have had their turn. A suspect's: waiting → announced (it goes into the next
      # commit; its unit is held) → cleared (that commit is acknowledged: it runs) → ended; and one that was counted → told
      # (a commit without the count is acknowledged: before, a process that dies of another would count against it). What may
      # interrupt them: a call back takes back the announcement; a seek drops everything; a lane that is given up in order takes
      # it back too, for nothing died; one that begins again where the group stands may read what it has said itself: that is no
      # death.
      class Suspects
        # Records that are suspected at most, and for how long: what may have been at hand when the process died. What comes later
        # is the first of its lane the next time, for as long as there are suspects each commit moves the offset.
        MOST = 1_000
        MOST_MS = 4_000
        # Adoptions in a row that were unclean, from which on that is worth a word.
        NOTABLE = 2
        # Records of a group at first, and at most. It isn't to take much longer than the commit that announces it.
        TOGETHER = (8..32)
        TOGETHER_US = 100_000
        # Of former times the latest counts for an eighth.
        WEIGHT = 8
        private_constant :TOGETHER_US, :WEIGHT

        # A unit that waits until it is announced. `sent`: the commit that says so is under way; `cleared`: it is acknowledged.
        Held = Struct.new(:unit, :sent, :cleared)
        private_constant :Held

        # @return [Integer] unclean adoptions in a row, as the next commit tells it
        attr_reader :unclean

        # @return [true, :asked, nil] whether the adoption is committed
        attr_accessor :told

        # Whether the commit is under way that says of a counted suspect that it has ended.
        attr_writer :clearing

        # @param policy [Routing::Quarantine]
        # @param remote [Boolean] whether user code runs in another process
        def initialize(policy, remote: false)
          @policy = policy
          @remote = remote
          @told = true if remote
          @unclean = 0
          @crashes = {}
          @group = {}
          @mine = {}
          @ended = {}
          @held = []
          @left = 0
          @end = @record_us = nil
          @changed = !remote
          @clearing = @refused = @leaving = false
        end

        # What the adopted commit said, if it was ours: nothing follows from a new group's, or from another's metadata, nor from
        # what this process has announced, which lives.
        # @param unclean [Integer] adoptions in a row; -1: this process's own, which was clean, is read again
        # @param crashes [Hash{Integer => Integer}] by offset; 0: under way together with others when the process died
        # @param clean [Boolean] whether the former owner ended in order
        def adopt(unclean:, crashes:, clean:)
          @crashes = crashes.to_h { |offset, count| [offset, of_others(offset, count)] }.compact
          return if clean || @remote
          @unclean = unclean + 1
          @left = MOST if @unclean.positive?
        end

        # @return [Boolean] whether no record has to be asked about, and none is waited for
        def quiet? = @told == true && @crashes.empty? && @left.zero? && @announced.nil? && @group.empty? && @held.empty?

        # @return [Boolean] whether the lane hands out one unit at a time
        def alone? = !@remote && @crashes.any? { |_offset, count| count < @policy.max_crashes }

        # Where the log ended when the first records were at hand: what came later has killed nobody.
        # @param offset [Integer, nil] nil: unknown
        # @param now [Integer] monotonic ms
        # @return [Boolean] whether it wasn't known before, and there are suspects
        def ends_at(offset, now)
          return false if @left.zero? || @end
          @end = offset || Float::INFINITY
          @until = now + MOST_MS
          true
        end

        # @return [Boolean] whether somebody should hear of it: a process that was killed once is no news
        def notable? = @unclean >= NOTABLE || @crashes.any?

        # Forgets what is complete by other means, and sees whether all have had their turn.
        # @param ledger [Ledger]
        # @param now [Integer] monotonic ms
        def look(ledger, now)
          @crashes.delete_if { |offset, _count| ledger.complete?(offset) }
          calm if @left.positive? && @end && (now >= @until || over?(ledger))
        end

        # @return [Boolean] whether the record may only run when it is announced, or not at all
        def suspect?(offset)
          return true if @crashes.key?(offset)
          @left.positive? && (@end.nil? || offset < @end) && !@ended.key?(offset)
        end

        # @return [Boolean] whether it has to be the only one of its lane, or isn't to be run at all
        def apart?(offset) = @crashes.key?(offset)

        # @return [Boolean] whether it isn't to be run at all
        def quarantined?(offset) = @announced != offset && crashes_of(offset) >= @policy.max_crashes

        # @return [Integer] how often the process died while it was the only one to run
        def crashes_of(offset) = @crashes.fetch(offset, 0)

        # @return [Boolean] whether nothing else of the process may be suspected with it: it was counted before, maybe because of
        #   one that ran in another lane at the same time
        def prime?(offset) = crashes_of(offset).positive? || @policy.max_crashes == 1

        # What is to be done about the record that is next in its lane, and is to run apart from others.
        # @return [:run, :announce, :quarantine] :announce: commit, then it may run
        def step(offset)
          return :quarantine if quarantined?(offset)
          @remote ? :run : :announce
        end

        # How many records may join those that are under way.
        # @param width [Integer] units of the lane that may run at once
        # @param most [Integer] for how many a commit has room
        # @return [Integer]
        def room(width, most = Float::INFINITY) = [[limit(width), most].min - @group.size, 0].max

        # They are about to run together: from the next commit on a crash points to them.
        # @param unit [Unit] held until that commit is acknowledged
        def together(unit)
          unit.messages.offsets.each { |offset| @group[offset] = @mine[offset] = 0 }
          hold(unit)
        end

        # It is about to run alone: from the next commit on a crash counts against it.
        # @param unit [Unit] of that record, held until that commit is acknowledged
        def announce(unit)
          @announced = unit.messages.first_offset
          @counted = true
          count(@announced)
          @mine[@announced] = @crashes[@announced]
          hold(unit)
        end

        # @return [Boolean] whether a suspect is announced or runs, or what is committed may still say so
        def announced? = !@announced.nil? || !@group.empty? || @clearing

        # @return [Boolean] whether units wait until they are announced
        def held? = !@held.empty?

        # @return [Boolean] whether the broker refused to be told of them, or had no room for it
        def refused? = @refused

        # @return [Array<Unit>] all that are held; they aren't any more
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

        # A unit came to an end, however it did: nothing counts against its records any more.
        # @param unit [Unit]
        # @param died [Integer, nil] the record that took the process it ran in along
        # @param time_us [Integer, nil] what it took
        # @return [Boolean] whether it ran alone: a commit counts it
        def ended(unit, died: nil, time_us: nil)
          announced = announced_in?(unit)
          @announced = nil if announced
          forget(unit)
          took(time_us / unit.messages.size) if time_us
          unit.messages.offsets.each { |offset| over(offset) unless offset == died }
          count(died) if died
          announced
        end

        # The lane is being given up in order: the process lives.
        def leave
          uncount
          @changed = true unless @group.empty?
          @leaving = true
        end

        # The lane begins anew elsewhere.
        def clear
          @crashes.clear
          calm
        end

        # @return [Boolean] whether the next commit says something else than the last
        def changed? = @changed

        # It is under way in a commit.
        def written!
          @changed = false
          @held.each { |held| held.sent = true }
        end

        # The commit was not acknowledged.
        def unwritten!
          @changed = true
          @held.each { |held| held.sent = false }
        end

        # The commit is acknowledged: what was announced in it may run, and the group knows of nothing else of this process.
        def acknowledged!
          @held.each { |held| held.cleared = true if held.sent }
          @mine.select! { |offset, _count| offset == @announced || @group.key?(offset) }
        end

        # The commit won't be acknowledged as it was.
        def refused! = @refused = held?

        # @param base [Integer] what is below counts no more
        # @return [Hash{Integer => Integer}] for the commit's envelope, ascending
        def counts(base)
          all = @leaving ? @crashes : @group.merge(@crashes)
          all.select { |offset, _count| offset >= base }.sort.to_h
        end

        # @return [Hash] for snapshots
        def to_h = {unclean: @unclean, left: @left, crashes: @crashes.dup, together: @group.size}

        private

        def announced_in?(unit) = !@announced.nil? && unit.consume? && unit.messages.first_offset == @announced

        # A quick record may share its commit with more others than one that takes its time; each worker has one.
        def limit(width)
          return [TOGETHER.begin, width + 1].max unless @record_us
          (TOGETHER_US * width / [@record_us, 1].max).clamp(width + 1, [TOGETHER.end, width + 1].max)
        end

        def took(record_us)
          @record_us = @record_us ? @record_us + ((record_us - @record_us) / WEIGHT) : record_us
        end

        def hold(unit)
          @changed = true
          @held << Held.new(unit, false, false)
        end

        def forget(unit) = unit.messages.offsets.each { |offset| @group.delete(offset) }

        # Of what was there at the beginning nothing is left that hasn't had its turn.
        def over?(ledger)
          return false if ledger.tail < @end
          incomplete = ledger.incomplete_offsets(@ended.size + 1)
          incomplete.all? { |offset| offset >= @end || @ended.key?(offset) }
        end

        def over(offset)
          @changed = true if @crashes.delete(offset)
          return unless suspect?(offset)
          @ended[offset] = true
          @left -= 1
          calm if @left.zero?
        end

        # The first records are through: whatever kills later begins a row of its own.
        def calm
          @changed = true
          @unclean = @left = 0
          @ended.clear
        end

        # @return [Integer, nil] what the group says of the record, without what this process has said; nil: then nothing
        def of_others(offset, count)
          own = @mine[offset]
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
          @crashes[@announced] -= 1
        end
      end
    end
  end
end
