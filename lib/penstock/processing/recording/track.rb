# frozen_string_literal: true

require_relative "../effects/effects"
require_relative "offsets"
require_relative "ring"
require_relative "row_encoder"

module Penstock
  module Processing
    module Recording
      # Records what happens to one lane, as values that a replay can feed to the same deciders: input (takes, outcomes, marks,
      # requests, the group's answers) and decisions (units, effects, commits). Of a record it keeps only the offset, and a hash
      # of its key.
      #
      # It writes the lane's state at intervals, so that the replay of a ring whose start was overwritten can begin there.
      #
      # On the poll loop's thread. It is passed from a lane to the next one of the same partition, so that entries from before a
      # rebalance are still there.
      class Track
        # Entries between two states.
        STATE_EVERY = 48
        # Most gaps of a take, and runs of an adopted map, that are recorded.
        MOST = 24
        private_constant :STATE_EVERY, :MOST

        # @return [Lane]
        attr_reader :lane

        # @param clock [Clock]
        # @param key [#call] converts a record's key to what is recorded
        def initialize(clock, key)
          @clock = clock
          @key = key
          @ring = Ring.new
          @state_at = 0
          @now = 0
          @by_key = false
        end

        # @return [Array<Array>] the oldest first; any thread
        def entries = @ring.to_a

        # @return [Integer] entries that were overwritten
        def overwritten = [@ring.count - Ring::ENTRIES, 0].max

        # @param lane [Lane] of the partition that was assigned
        def assigned(lane)
          @lane = lane
          @by_key = lane.by_key?
          @admits = !(lane.prepare.nil? && lane.pipeline.nil?)
          @suspected = false
          write(:assigned, lane.epoch)
        end

        # The committed offset is known.
        # @param completed [Array<Array(Integer, Integer)>] complete runs beyond it
        def adopted(offset, completed = [])
          attempts = @lane.attempts.to_h
          write(:adopted, offset, completed.size, attempts.size)
          completed.first(MOST).each { |from, to| write(:complete, from, to) }
          attempts.first(MOST).each { |failed, count| write(:attempts, failed, count, retried_at) }
        end

        # @param batch [#size, #from, #to, #offset, #eof] not admitted yet
        def take(batch)
          @now = now = @clock.monotonic_ms
          state(now) if @ring.count >= @state_at
          size = batch.size
          return @ring.write(:take, now, batch.from, batch.to, 0, nil, nil, batch.eof) if size == 0
          first, last = batch.offset(0), batch.offset(size - 1)
          @ring.write(:take, now, batch.from, batch.to, size, first, last, batch.eof, batch.full?)
          gaps(now, batch, 0, size - 1, MOST) unless last - first == size - 1
        end

        # Reuses the time of the entry that made the unit possible, without reading the clock.
        # @param unit [Unit] handed out
        def unit(unit)
          messages = unit.stretch || unit.messages
          first, last, size = messages.first_offset, messages.last_offset, messages.size
          return @ring.write(:unit, @now, unit.action, first, last, size, unit.attempt) unless @by_key
          key = @key.call(unit.key) unless unit.key.nil?
          @ring.write(:unit, @now, unit.action, first, last, size, unit.attempt, key)
          scattered(@now, messages) if key && last - first >= size
        end

        # The topic's breaker is open: the unit that follows is a probe of one record.
        def probed = write(:probe)

        # Records that the sizes of the following units depend on suspects. Once per assignment.
        def suspected
          write(:suspected) unless @suspected
          @suspected = true
        end

        # @param outcome [Outcome] before it is settled
        # @param now [Integer] monotonic ms of its settlement
        def outcome(outcome, now)
          @now = now
          unit = outcome.unit
          state(now) if @by_key && @ring.count >= @state_at
          held(outcome) if @by_key && outcome.error
          marks(unit) if @by_key || @lane.marks.through >= 0
          @ring.write(:stale, now, unit.incarnation) unless unit.lane.equal?(@lane) && unit.incarnation == @lane.incarnation
          @ring.write(:reached, now, unit.stretch.calls) if unit.rest
          @ring.write(:wish, now, *RowEncoder.flow(outcome.flow)) if outcome.flow
          @ring.write(:advice, now, *RowEncoder.callback_results(outcome.callback_results)) if outcome.callback_results
          error = outcome.error
          finished = error ? unit.messages.cursor && :cursor : outcome.finished
          @ring.write(:outcome, now, unit.action, (unit.stretch || unit.messages).first_offset, error&.class&.name,
            outcome.blamed, finished, @lane.ledger.base, outcome.time_us)
        end

        # @param effects [Array<Effect>] the decision
        def effects(effects)
          admitted(effects) if @admits
          return if effects.size == 1 && RowEncoder.implied?(effects[0])
          RowEncoder.effects(effects, @key).each { |name, *values| write(:effect, name, *values) }
        end

        # User code makes a request outside a unit.
        # @param flow [Consumer::Flow, Symbol]
        def requested(flow) = write(:asked, *RowEncoder.flow(flow))

        # @param units [Array<Unit>] handed out, and called back before they began
        def called_back(units)
          write(:back, units.size, units.first.action, *units.first(5).map { |unit| unit.messages.first_offset }) if units.any?
        end

        # @param entry [Assignment::Commits::Entry] about to be sent
        # @param clean [Boolean]
        def commit(entry, clean) = write(:commit, entry.offset, entry.metadata.to_s.bytesize, clean)

        # @param entry [Assignment::Commits::Entry]
        # @param code [Symbol, nil] nil: acknowledged
        def committed(entry, code) = write(:committed, entry.offset, code)

        # The letter of a record is acknowledged: its effects follow.
        # @param request [Failure::LetterRequest]
        def acknowledged(request, now) = @ring.write(:letter, now, request.letter.offset)

        # Holds of the lane or of its keys have ended.
        def expired(now) = @ring.write(:expired, @now = now)

        # @param state [Symbol] :leave (nothing new), :cut_off, :lost
        # @param lane [Lane] another one if the partition is already ours again
        def state_changed(state, lane)
          write(state) if lane.equal?(@lane)
        end

        # A new incarnation begins at the offset.
        def started_over(offset) = write(:incarnation, @lane.incarnation, offset)

        # Records that were handed out and aren't marked are redelivered, read from the broker.
        # @param offset [Integer, nil] from there on; nil: everything has been marked meanwhile
        def redelivery(offset) = write(:redelivery, offset)

        # The source is already at the seek's target: the lane continues without a new incarnation.
        def continued(offset) = write(:went_on, offset)

        # Marks are about to be read.
        # @param unit [Unit, nil] where keys run in parallel: only its marks
        def marks(unit = nil)
          return marks_in(unit) if unit && @by_key
          return @lane.division.each_mark(@lane.ledger.base || 0) { |each| marks_in(each) } if @by_key
          through = @lane.marks.through
          write(:mark, through) if through > (@lane.ledger.base || -1)
        end

        # Marks of a transaction count, because it is committed.
        # @param marks [Array<Array(Object, Integer)>] cells and offsets
        def carried(marks)
          exact, marks = marks.partition { |cell, _offset| cell.is_a?(Consumer::Claim::Exact) }
          exact.each { |_cell, offset| write(:carried, offset, nil, true) }
          return if marks.empty?
          return write(:carried, marks.map(&:last).max, nil, false) unless @by_key
          @lane.division.each_mark(@lane.ledger.base || 0) do |unit|
            through = marks.filter_map { |cell, offset| offset if cell.equal?(unit.marks) }.max
            write(:carried, through, unit.messages.first_offset, false) if through
          end
        end

        private

        # With manual offsets an error of one unit concerns other units that its consumer has had, and the marks in them. An
        # entry without values: there were too many.
        def held(outcome)
          return unless @lane.topic.manual_offset_management?
          others = @lane.division.held_with(outcome.unit).map { |unit| unit.messages.first_offset }
          (others.size > MOST) ? write(:held) : others.each_slice(7) { |slice| write(:held, *slice) }
          marks
        end

        def write(kind, *values) = @ring.write(kind, @now = @clock.monotonic_ms, *values)

        # Admission depends on more than what is recorded, so each admitted or dropped record is recorded.
        def admitted(effects)
          effects.each do |effect|
            case effect
            when Effect::LetIn then offsets(:let_in, effect.messages.offsets)
            when Effect::Drop then offsets(:dropped, effect.offsets)
            end
          end
        end

        # An entry without values: there were too many.
        def offsets(kind, offsets)
          rows = Offsets.rows(offsets)
          return write(kind) if rows.size > MOST
          rows.each { |row| write(kind, *row) }
        end

        def retried_at = @lane.attempts.adopted_until || @lane.holds.to_h[:retry]

        def state(now)
          @state_at = @ring.count + STATE_EVERY
          ledger = @lane.ledger
          @ring.write(:state, now, ledger.base, ledger.tail, ledger.incomplete, @lane.in_flight, @lane.incarnation,
            @lane.attempts.size, @lane.redelivery.position || (true if @lane.holds.include?(:redelivery)))
        end

        # Halves the range between two records until the gaps are found: a take with few gaps needs few look-ups.
        # @return [Integer] how many more gaps may be recorded
        def gaps(now, batch, low, high, left)
          return left if left.zero? || batch.offset(high) - batch.offset(low) == high - low
          if high - low == 1
            @ring.write(:gap, now, batch.offset(low) + 1, batch.offset(high))
            return left - 1
          end
          middle = (low + high) / 2
          gaps(now, batch, middle, high, gaps(now, batch, low, middle, left))
        end

        # Records of one key.
        def scattered(now, messages)
          offsets = Array.new(messages.size) { |index| messages.offset_at(index) }
          offsets.each_slice(7) { |slice| @ring.write(:of, now, *slice) }
        end

        def marks_in(unit)
          through = unit.marks&.through || -1
          write(:mark, through, unit.messages.first_offset) unless through.negative? || @lane.ledger.complete?(through)
        end
      end
    end
  end
end
