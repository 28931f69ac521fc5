# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Finds the record that kills the process. After a second unclean adoption in a row, the first records of a lane are
      # *suspects*: each runs alone in its lane, and that it runs is committed before it starts. So only a record that was alone
      # when the process died is counted, and one that did so too often isn't run again.
      #
      # One a lane, from adoption on; owned by the lane. A suspect's states: waiting → announced (its count goes into the next
      # commit) → cleared (that commit is acknowledged: it may run) → ended. What may interrupt them: a seek or a loss drops the
      # whole; a commit that is refused leaves it announced, and it is announced again.
      class Suspects
        # Adoptions in a row that must have been unclean: a single kill makes no lane serial.
        UNCLEAN = 2

        # @return [Integer] unclean adoptions in a row, as the next commit tells it
        attr_reader :unclean

        # @param policy [Routing::Quarantine]
        # @param unclean [Integer] as the adopted commit told it
        # @param crashes [Hash{Integer => Integer}] times a record was running alone, by offset, as the adopted commit told it
        # @param clean [Boolean] whether the former owner ended in order
        # @param ours [Boolean] whether the commit's metadata is ours: nothing follows from a new group's, or another's
        def initialize(policy, unclean: 0, crashes: {}, clean: true, ours: true)
          @policy = policy
          died = ours && !clean
          @unclean = died ? unclean + 1 : 0
          @crashes = ours ? crashes.dup : {}
          @window = @suspects = nil
          @announced = nil
          @cleared = nil
        end

        # Which records are suspects: once, when the first are at hand. Those that were counted before are, after a single kill
        # too; all of them after the second.
        # @param offsets [Array<Integer>] incomplete, ascending
        def watch(offsets)
          return if @window
          @window = offsets.to_h { |offset| [offset, true] }
          @suspects = serial? ? @window.dup : @window.slice(*@crashes.keys)
          calm if @window.empty?
        end

        # @return [Boolean] whether any is left
        def any? = @suspects ? !@suspects.empty? : serial?

        # @return [Boolean] whether the record has to run alone
        def suspect?(offset) = @suspects ? @suspects.key?(offset) : serial?

        # @return [Boolean] whether it isn't to be run at all
        def quarantined?(offset) = crashes_of(offset) >= @policy.max_crashes

        # @return [Integer] how often the process died while it was the only one to run
        def crashes_of(offset) = @crashes.fetch(offset, 0)

        # What is to be done about the record that is next in its lane.
        # @return [:run, :announce, :wait, :quarantine] :announce: commit, then it may run
        def step(offset)
          return :run unless suspect?(offset)
          return :quarantine if quarantined?(offset) && @announced != offset
          return :run if @cleared == offset

          (@announced == offset) ? :wait : :announce
        end

        # It is about to run: from the next commit on a crash counts against it.
        def announce(offset)
          @announced = offset
          @crashes[offset] = crashes_of(offset) + 1
        end

        # A commit with its count is acknowledged.
        def cleared(offset)
          @cleared = offset if @announced == offset
        end

        # It ended, however it did, or is quarantined, or complete by other means: nothing counts against it any more.
        def ended(offset)
          @announced = nil if @announced == offset
          @cleared = nil if @cleared == offset
          @crashes.delete(offset)
          @suspects&.delete(offset)
          calm if @window&.delete(offset) && @window.empty?
        end

        # Everything below is complete.
        # @param base [Integer] of the ledger
        def complete_through(base) = @window&.each_key&.select { |offset| offset < base }&.each { |offset| ended(offset) }

        # The unit came back without having run.
        def returned(offset)
          return unless @announced == offset
          count = crashes_of(offset) - 1
          count.positive? ? @crashes[offset] = count : @crashes.delete(offset)
          @announced = @cleared = nil
        end

        # @return [Hash{Integer => Integer}] for the commit's envelope
        def to_h = @crashes.dup

        private

        def serial? = @unclean >= UNCLEAN

        # The first window is through: whatever kills later begins a row of its own.
        def calm = @unclean = 0
      end
    end
  end
end
