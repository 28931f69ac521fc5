# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Finds the record that kills the process. After a second unclean adoption in a row, the first records of a lane are
      # *suspects*: each runs alone in its lane, and that it runs is committed before it starts. So only a record that was alone
      # when the process died is counted, and one that did so too often isn't run again.
      #
      # Where user code runs in processes of its own (`remote`) the record that took one along is known at once: it is counted,
      # and nothing else is suspected.
      #
      # One a lane, owned by it. States of a lane: untold (nothing is handed out before a commit has said that we are here, and
      # not clean) → told; and beside it alone (one unit at a time) → calm, when all suspects have had their turn. A suspect's:
      # waiting → announced (its count goes into the next commit) → cleared (that commit is acknowledged: it runs) → ended → told
      # (a commit without the count is acknowledged: before, a process that dies of another would count against it). What
      # may interrupt them: a call back undoes the count; a seek drops the whole; a lane that is given up in order takes the count
      # back, for nothing died; one that begins anew where the group stands may read what it has said itself: that is no death.
      class Suspects
        # Adoptions in a row that must have been unclean: a single kill makes no lane serial.
        UNCLEAN = 2
        # Records that are tried alone at most: what may have been at hand when the process died.
        MOST = 1_000

        # @return [Integer] unclean adoptions in a row, as the next commit tells it
        attr_reader :unclean

        # @return [true, :asked, nil] whether the adoption is committed
        attr_accessor :told

        # @return [Unit, nil] the suspect that waits until its count is acknowledged
        attr_reader :held

        # Whether the commit is under way that says of a suspect that it has ended.
        attr_writer :clearing

        # @param policy [Routing::Quarantine]
        # @param remote [Boolean] whether user code runs in another process
        def initialize(policy, remote: false)
          @policy = policy
          @remote = remote
          @told = true if remote
          @unclean = 0
          @crashes = {}
          @mine = {}
          @ended = {}
          @left = 0
          @end = nil
          @changed = !remote
          @clearing = false
        end

        # What the adopted commit said, if it was ours: nothing follows from a new group's, or from another's metadata, nor from a
        # count of this process, which lives.
        # @param unclean [Integer] adoptions in a row
        # @param crashes [Hash{Integer => Integer}] by offset
        # @param clean [Boolean] whether the former owner ended in order
        def adopt(unclean:, crashes:, clean:)
          @crashes = crashes.to_h { |offset, count| [offset, mine?(offset, count) ? count - 1 : count] }
          @crashes.select! { |_offset, count| count.positive? }
          return if clean || @remote
          @unclean = unclean + 1
          @left = MOST if @unclean >= UNCLEAN
        end

        # @return [Boolean] whether no record has to be asked about, and none is waited for
        def quiet? = @told == true && @crashes.empty? && @left.zero? && @announced.nil?

        # @return [Boolean] whether the lane hands out one unit at a time
        def alone? = !@remote && (@left.positive? || @crashes.any? { |_offset, count| count < @policy.max_crashes })

        # Where the log ended when the first records were at hand: what came later has killed nobody.
        # @param offset [Integer, nil] nil: unknown
        # @return [Boolean] whether it wasn't known before, and there are suspects
        def ends_at(offset)
          return false if @left.zero? || @end
          @end = offset || Float::INFINITY
          true
        end

        # Forgets what is complete by other means, and sees whether all have had their turn.
        # @param ledger [Ledger]
        def look(ledger)
          @crashes.delete_if { |offset, _count| ledger.complete?(offset) }
          calm if @left.positive? && @end && over?(ledger)
        end

        # @return [Boolean] whether the record has to run alone, or not at all
        def suspect?(offset)
          return true if @crashes.key?(offset)
          @left.positive? && (@end.nil? || offset < @end) && !@ended.key?(offset)
        end

        # @return [Boolean] whether it isn't to be run at all
        def quarantined?(offset) = @announced != offset && crashes_of(offset) >= @policy.max_crashes

        # @return [Integer] how often the process died while it was the only one to run
        def crashes_of(offset) = @crashes.fetch(offset, 0)

        # @return [Boolean] whether nothing else of the process may be suspected with it: it was counted before, maybe because of
        #   one that ran in another lane at the same time
        def prime?(offset) = crashes_of(offset).positive? || @policy.max_crashes == 1

        # What is to be done about the record that is next in its lane.
        # @return [:run, :announce, :quarantine] :announce: commit, then it may run
        def step(offset)
          return :run unless suspect?(offset)
          return :quarantine if quarantined?(offset)
          @remote ? :run : :announce
        end

        # It is about to run: from the next commit on a crash counts against it.
        # @param unit [Unit] of that record
        def announce(unit)
          @held = unit
          @announced = unit.messages.first_offset
          @counted = true
          count(@announced)
          @mine[@announced] = @crashes[@announced]
        end

        # @return [Boolean] whether a suspect is announced or runs, or what is committed may still say so
        def announced? = !@announced.nil? || @clearing

        # The commit with its count is acknowledged, or won't be.
        # @return [Unit, nil] what waited for it
        def take_held
          unit, @held = @held, nil
          unit
        end

        # The commit with its count is acknowledged: the group knows of no other of ours.
        def written_alone! = @mine.select! { |offset, _count| offset == @announced }

        # Units came back without having run.
        # @param units [Array<Unit>]
        def returned(units)
          return unless units.any? { |unit| announced_in?(unit) }
          uncount
          @announced = nil
        end

        # A unit came to an end, however it did: nothing counts against its records any more.
        # @param died [Integer, nil] the record that took the process it ran in along
        # @return [Boolean] whether it was announced: a commit says that it runs
        def ended(unit, died: nil)
          announced = announced_in?(unit)
          @announced = nil if announced
          unit.messages.offsets.each { |offset| over(offset) unless offset == died }
          count(died) if died
          announced
        end

        # The lane is being given up in order: the process lives.
        def leave = uncount

        # The lane begins anew elsewhere.
        def clear
          @crashes.clear
          calm
        end

        # @return [Boolean] whether the next commit says something else than the last
        def changed? = @changed
        def written! = @changed = false
        def unwritten! = @changed = true

        # @param base [Integer] what is below counts no more
        # @return [Hash{Integer => Integer}] for the commit's envelope, ascending
        def counts(base) = @crashes.select { |offset, _count| offset >= base }.sort.to_h

        # @return [Hash] for snapshots
        def to_h = {unclean: @unclean, left: @left, crashes: @crashes.dup}

        private

        def announced_in?(unit) = !@announced.nil? && unit.consume? && unit.messages.first_offset == @announced

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

        # Whether the group's count has ours in it, of a record that doesn't run.
        def mine?(offset, count) = offset != @announced && count >= @mine.fetch(offset, Float::INFINITY)

        def count(offset)
          @changed = true
          @crashes[offset] = crashes_of(offset) + 1
        end

        def uncount
          return unless @announced && @counted
          @counted = false
          @changed = true
          before = crashes_of(@announced) - 1
          before.positive? ? @crashes[@announced] = before : @crashes.delete(@announced)
        end
      end
    end
  end
end
