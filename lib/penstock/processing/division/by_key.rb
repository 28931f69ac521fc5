# frozen_string_literal: true

require "forwardable"
require_relative "../../consumer/unit_marks"
require_relative "../../on_demand"
require_relative "../unit"
require_relative "key_redelivery"
require_relative "key_run"
require_relative "key_sequence"
require_relative "pace"
require_relative "parking"
require_relative "ready_keys"
Penstock.load_constant :Messages

module Penstock
  module Processing
    module Division
      # Runs keys in parallel, each in its own order, with no barrier between takes. A unit consists of the buffered records of
      # *one* key; while it is handed out, no other unit of that key is. A key that fails is parked with its own back-off while
      # the others continue. With `by: :message` every record is treated as a key of its own.
      #
      # The window bounds the number of buffered records: those that are admitted and incomplete, whether waiting, running or
      # parked. Owned by its lane.
      class ByKey
        extend Forwardable

        # See {KeyRedelivery}.
        def_delegators :@key_redelivery, :redeliver, :held_with, :each_unit, :any_unmarked?, :settled

        # The window where none is set: with fewer records per worker, too few keys are available and workers wait. The upper
        # bound keeps what is complete beyond the offset far below the room in a commit (docs/formats.md).
        RECORDS_PER_WORKER = 100
        WINDOWS = (1_000..5_000)

        # @param max [Integer] most records of a unit
        # @param width [Integer] units that may run at once
        # @param window_records [Integer, nil] most incomplete records; nil: as the width requires
        # @param window_bytes [Integer]
        # @param each [Boolean] treat every record as a key of its own
        def initialize(max:, width:, window_records:, window_bytes:, each: false)
          @max = max
          @given_window = window_records
          @window_bytes = window_bytes
          @each = each
          @runs = {}
          @sequence = KeySequence.new(@runs)
          @ready = ReadyKeys.new
          @parking = Parking.new
          @out = {}.compare_by_identity
          @unmarked = {}.compare_by_identity
          @key_redelivery = KeyRedelivery.new(@out, @unmarked, @runs) { |key, messages| insert(key, messages) }
          @pace = Pace.new
          self.width = width
          @collapse_through = @stop_before = nil
          @bytes = @ended_units = 0
        end

        def by_key? = true

        # @return [Pace]
        attr_reader :pace

        # @return [Integer] units that may run at once
        def width = @pace.width

        # @return [Integer] units of records that have ended since the assignment
        attr_reader :ended_units

        # @return [Integer] most incomplete records
        attr_reader :window_records

        # @param width [Integer] from now on; units that were handed out continue
        def width=(width)
          @window_records = [@given_window || (width * RECORDS_PER_WORKER).clamp(WINDOWS), 2 * @max].max
          @pace.resize(width, @window_records)
        end

        # @param messages [Messages] records that follow everything pushed before
        # @param keys [Array<Object>, nil] the partitioner's; nil: the records' own
        # @param lane [Lane]
        def push(messages, keys, lane)
          messages.size.times do |index|
            message = messages.keyed(index)
            @bytes += message.bytesize
            run = run_of(key_of(message, keys, index))
            run.add(message)
            @sequence.added(run) if run.messages.size == 1
            restore_retry(run, message.offset, lane) if lane.attempts.any?
            enqueue(run)
          end
        end

        # @param limit [Integer, nil]
        # @return [Boolean] whether nothing is buffered, or nothing below the limit
        def empty?(limit = nil)
          limit ? !@sequence.below?(limit) : @runs.empty?
        end

        # Called by any thread, for snapshots, so it iterates over a copy: during an iteration of the Hash itself the poll loop
        # couldn't add a key.
        # @return [Integer] buffered records, without those that run
        def size = @runs.values.sum { |run| run.messages.size }

        # @return [Boolean] whether a unit may be cut
        def waiting?
          return false if @out.size >= @pace.width + @pace.look_ahead
          return @ready.any_ready? unless @collapse_through || @stop_before
          return false unless @out.empty?
          collapsing? ? first_run.ready? : @stop_before.nil? && @ready.any_ready?
        end

        # Requests records when few keys are ready that don't run again, and enough at once to be worth an iteration.
        # @return [Integer] records to take from the source
        def wanted(lane)
          fresh = @ready.fresh
          return 0 if fresh >= @pace.least_ahead || @bytes >= @window_bytes
          room = @window_records - lane.ledger.incomplete
          (room.positive? && (room * 4 >= @window_records || fresh.zero?)) ? room : 0
        end

        # @return [Symbol, nil] the limit its records have reached while all of them run or run again: nothing else is taken until
        #   some are complete. `:metadata`: what is complete beyond the offset may outgrow a commit
        def full(lane)
          return if !lane.open? || (@ready.fresh_ready? && !@stop_before)
          return :records if lane.ledger.incomplete >= @window_records
          return :bytes if @bytes >= @window_bytes
          :metadata if lane.ledger.incomplete.positive? && lane.commit_state.metadata_nearly_full?
        end

        # @return [Integer] bytes of the window that are left
        def room_bytes = @window_bytes - @bytes

        # @param lane [Lane]
        # @return [Unit, nil] nil if all records that could run have been marked since they were requeued
        def next_unit(lane)
          run = next_run
          run = next_run while run && (run.again || run.returned) && leave_out_complete(run, lane)
          return unless run
          in_order? ? next_in_order(lane) : cut(@ready.shift, @max, lane)
        end

        # @param lane [Lane]
        # @return [Boolean] whether a record that has never run could be the next one
        def fresh?(lane) = !fresh_run(lane).nil?

        # @param lane [Lane]
        # @return [Unit] of one record: the first of a key that has a fresh one, else of the next key
        def probe(lane)
          tidy
          run = fresh_run(lane) || (in_order? ? first_run : @ready.first)
          isolate(run.key, run.messages.first.offset)
          return next_in_order(lane) if in_order?
          cut(@ready.delete(run), 1, lane)
        end

        # @param time_us [Integer] duration of a unit
        # @param records [Integer] number of its records
        def record_time(time_us, records = 1)
          @ended_units += 1
          @pace.record(time_us, records)
        end

        # A unit came back, run or not. With manual offsets its marks are read as long as some of its records are unmarked.
        def returned(unit)
          run = @out.delete(unit)
          @unmarked[unit] = true if unit.lane.topic.manual_offset_management? && unit.incarnation == unit.lane.incarnation
          return unless run
          run.busy = false
          enqueue_or_forget(run)
        end

        # Requeues units that never started. If their records have run before, code that still holds them marks in the same cell.
        # @param units [Array<Unit>]
        def put_back(units)
          units.each do |unit|
            @unmarked.delete(unit) unless unit.marks&.inherited
            requeue(unit.key, unit.messages, again: unit.attempt > 1)
          end
        end

        # @param messages [Messages] run before anything else of the key
        # @param again [Boolean] whether they have run before
        def requeue(key, messages, again: true)
          return if messages.empty?
          run = run_of(key)
          run.put_back(messages.to_a)
          @sequence.changed
          run.returned = true
          @ready.again(run) if again
          enqueue(run)
        end

        # Cuts records of the key one by one, from one offset up to and including another.
        def isolate(key, through, from = nil) = run_of(key).isolate(through, from)

        # Runs records up to and including the offset one by one, in the partition's order, after the units that are handed out
        # have ended.
        #
        # @param only [Boolean] true: and no others begin, until everything is dropped
        def collapse(through, only: false)
          return @stop_before = [@stop_before, through + 1].compact.min if only
          @collapse_through = [@collapse_through, through].compact.max
        end

        # Parks the key; the others continue. This doesn't shorten any other wait of the key.
        # @param reason [Symbol]
        # @param at [Integer, nil] monotonic ms at which the wait ends by itself
        def park(key, reason, at)
          run = run_of(key)
          run.detached = true
          run.parked = reason unless at && @parking.held?(run)
          @ready.delete(run)
          @parking.add(run, at)
        end

        # Ends the key's wait; but not that of a record of it that is retried later.
        # @return [Boolean] whether the key was parked
        def release(key)
          run = @runs[key]
          return false unless run&.parked
          @parking.release(run) ? unpark(run) : run.parked = :retry
          true
        end

        # @return [Integer, nil] monotonic ms at which the next key's wait ends by itself
        def next_due = @parking.next_due

        # @param now [Integer] monotonic ms
        def expire(now) = @parking.expire(now) { |run| unpark(run) }

        # Yields units that may have marks that haven't been read.
        # @param base [Integer] everything below it is complete
        # @yieldparam unit [Unit]
        def each_mark(base, &)
          @out.each_key(&)
          return if @unmarked.empty?
          @unmarked.delete_if { |unit, _| unit.messages.last_offset < base }
          @unmarked.keys.each(&)
        end

        # All records of the unit are complete.
        def done(unit) = @unmarked.delete(unit)

        # @param offset [Integer]
        # @return [Boolean] whether its unit has ended without marking it
        def unmarked?(offset)
          @unmarked.each_key.any? { |unit| unit.messages.offsets.include?(offset) } && @out.each_key.none? do |unit|
            unit.messages.offsets.include?(offset)
          end
        end

        # @param bytes [Integer] of records that were completed
        def completed(bytes) = @bytes -= bytes

        # @return [Integer, nil]
        def first_offset = nil

        # @return [Array<Object>] keys of units that are handed out, one per unit
        def busy_keys = @out.keys.select(&:consume?).map(&:key)

        # Units of an earlier assignment still run with these keys.
        def block(keys) = keys.each { |key| run_of(key).blocked += 1 }

        # One of them has ended.
        def unblock(key)
          run = @runs[key] or return
          run.blocked -= 1 if run.blocked.positive?
          enqueue_or_forget(run)
        end

        # Drops everything that was buffered; the key of a unit that is handed out is kept.
        def clear
          @collapse_through = @stop_before = nil
          @ready.clear
          @parking.clear
          @unmarked.clear
          @bytes = 0
          @runs.each_value(&:clear)
          @sequence.changed
          @runs.delete_if { |_key, run| run.idle? }
        end

        # @return [Hash] for snapshots
        def to_h = {backlog: size, keys: @runs.size, ready: @ready.size, parked: @parking.size, bytes: @bytes}

        private

        # A record without a key runs alone; so does one for which the partitioner returned nil, although the record has a key.
        def key_of(message, keys, index)
          return message.offset if @each
          key = keys ? keys[index] : message.raw_key
          key.nil? ? message.offset : key
        end

        # @return [KeyRun, nil]
        def fresh_run(lane)
          return first_run.then { |run| run if lane.probing.untried?(run.messages.first.offset) } if collapsing?
          @ready.find { |run| run.ready? && lane.probing.untried?(run.messages.first.offset) } unless @stop_before
        end

        def run_of(key) = @runs[key] ||= KeyRun.new(key)

        # Makes records that an earlier owner was retrying run alone, after their back-off.
        def restore_retry(run, offset, lane)
          return if lane.attempts.of(offset).zero?
          run.isolate(offset)
          at = lane.attempts.adopted_until
          park(run.key, :retry, at) if at
        end

        def unit_of(run, messages, lane)
          cell = (inherited(run, messages) if run.returned) || Consumer::UnitMarks.new(lane.marks)
          messages.each { |message| message.join(cell) }
          listed = cell.messages = Messages::Listed.new(messages, messages.first.batch)
          attempt = lane.attempts.of(listed.first_offset) + 1
          Unit.new(lane, :consume, listed, listed.last_offset + 1, attempt, lane.incarnation, run.key, cell)
        end

        def inherited(run, messages)
          run.returned = false
          @key_redelivery.inherited(run.key, messages)
        end

        def cut(run, most, lane)
          most = 1 if run.again && retried_alone?(run.messages.first.offset, lane)
          run.again = false
          run.busy = true
          unit = unit_of(run, run.cut(most), lane)
          @sequence.taken(run)
          @out[unit] = run
          unit
        end

        # The key may have been forgotten, with its isolated range, while its only unit was called back or requested a pause.
        def retried_alone?(offset, lane) = lane.attempts.of(offset).positive? && lane.topic.features.fetch(:isolate, true)

        # Records that were handed out before run again, in their order among those of the key.
        def insert(key, messages)
          run = run_of(key)
          run.merge(messages)
          @sequence.changed
          @ready.again(run)
          enqueue(run)
        end

        def enqueue(run)
          @ready.push(run) unless run.queued || !run.ready?
        end

        def unpark(run)
          run.parked = nil
          enqueue_or_forget(run)
        end

        # Queues the key, or forgets it when it has no state left.
        def enqueue_or_forget(run)
          run.idle? ? @runs.delete(run.key) : enqueue(run)
        end

        # @return [Boolean] whether the first buffered record runs next, and nothing at the same time; a key that waits makes all
        #   keys wait
        def collapsing? = in_order? && @sequence.below?(@stop_before || (@collapse_through + 1))

        def in_order? = !@stop_before.nil? || !@collapse_through.nil?

        # @return [KeyRun, nil]
        def first_run = @sequence.first

        def next_run
          tidy
          return @ready.first unless in_order?
          first_run if collapsing? && first_run.ready?
        end

        # Records may be marked while they wait to run again. The key is queued again: where keys are throttled, its other records
        # may have to wait.
        def leave_out_complete(run, lane)
          return false unless run.leave_out { |offset| lane.ledger.complete?(offset) }
          @sequence.changed
          enqueue_or_forget(@ready.delete(run))
          true
        end

        def next_in_order(lane)
          run = first_run
          @ready.delete(run)
          cut(run, 1, lane).tap { |unit| unit.collapsed = true }
        end

        # Before a unit is cut: ends a collapse that has reached its offset, and removes keys from the front of the queue that
        # were ready and have since been parked, or lost their records.
        def tidy
          @collapse_through = nil unless collapsing?
          @ready.tidy
        end
      end
    end
  end
end
