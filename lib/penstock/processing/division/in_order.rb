# frozen_string_literal: true

require_relative "../backlog"
require_relative "../multi_call_unit"
require_relative "../unit"

module Penstock
  module Processing
    module Division
      # Runs one unit per partition at a time, in offset order: records wait in one queue and units are cut from it. The units
      # after the running one may already be handed out, so that a worker never waits for an iteration of the poll loop. Owned by
      # its lane.
      class InOrder
        # One unit runs, one waits.
        LOOK_AHEAD = 1
        # More units wait if they end within a millisecond or so: an iteration of the loop costs more than they do.
        QUICK_LOOK_AHEAD = 3
        QUICK_US = 2_000
        # Quicker calls of `consume` are combined into one unit: at most this many calls, and this many records.
        VERY_QUICK_US = 250
        MOST_CALLS = 8
        MOST_RECORDS = 1_000

        # @return [Numeric] most bytes of a take
        attr_reader :room_bytes

        # @return [Integer] units of records that have ended since the assignment
        attr_reader :ended_units

        # @return [Integer] calls of `consume` the next unit may have; set from outside where the right number is known
        attr_accessor :calls

        # @param max [Integer] most records of a call of `consume`
        # @param window_bytes [Numeric] most bytes taken at once
        # @param stretch [Boolean] whether a unit may have several calls
        def initialize(max, window_bytes: Float::INFINITY, stretch: false)
          @max = max
          @room_bytes = window_bytes
          @most_calls = stretch ? (MOST_RECORDS / max).clamp(1, MOST_CALLS) : 1
          @calls = 1
          @stretches = []
          @backlog = Backlog.new
          @out = @ended_units = 0
          @collapse_through = nil
          @look_ahead = LOOK_AHEAD
        end

        # Units of one lane run one after another; a failed one stalls those after it until the loop has decided.
        def by_key? = false

        # @param messages [Messages] records that follow everything pushed before
        def push(messages, _keys = nil, _lane = nil) = @backlog.push(messages)

        # @return [Boolean] whether nothing is buffered
        def empty? = @backlog.empty?

        # @return [Integer] buffered records
        def size = @backlog.size

        # @return [Boolean] whether a unit could be cut
        def waiting? = !@backlog.empty? && @out <= @look_ahead

        # @return [Integer] records to take from the source
        def wanted(_lane) = (@backlog.empty? && @out <= @look_ahead) ? @max * @calls * (1 + @look_ahead) : 0

        # @return [nil] always: it has no window
        def full(_lane) = nil

        # @param lane [Lane]
        # @return [Unit]
        def next_unit(lane)
          multiple = @calls > 1 && multiple_calls?(lane)
          messages = @backlog.cut(multiple ? @max * @calls : @max)
          @out += 1
          return multi_call_unit(lane, messages) if messages.size > @max
          last = messages.last_offset
          Unit.new(lane, :consume, messages, last + 1, lane.attempts.of(messages.first_offset) + 1, lane.incarnation,
            nil, nil, nil, @collapse_through && last <= @collapse_through)
        end

        # @param lane [Lane]
        # @return [Boolean] whether the next record has never run
        def fresh?(lane) = !@backlog.empty? && lane.probing.untried?(@backlog.first_offset)

        # @param lane [Lane]
        # @return [Unit] of the first record alone
        def probe(lane)
          @backlog.isolate_through(@backlog.first_offset)
          next_unit(lane)
        end

        # @param time_us [Integer] duration of a call
        def record_time(time_us, _records = 1)
          @ended_units += 1
          @look_ahead = (time_us < QUICK_US) ? QUICK_LOOK_AHEAD : LOOK_AHEAD
          @calls = (time_us < VERY_QUICK_US) ? [@calls * 2, @most_calls].min : [@calls / 2, 1].max
        end

        # A unit came back, whether it ran or not.
        def returned(unit)
          @out -= 1
          @stretches.delete(unit.stretch) if unit.stretch
        end

        # Requeues units that never started; a running unit ends after its current call.
        # @param units [Array<Unit>] in the order in which they were handed out
        def put_back(units)
          @stretches.each(&:finish!)
          units.reverse_each do |unit|
            @backlog.put_back(unit.rest) if unit.rest
            @backlog.put_back(unit.messages)
          end
        end

        # @param messages [Messages] run before anything else
        def requeue(_key, messages, **) = @backlog.put_back(messages)

        # Adds redelivered records, after {#discard}: they were handed out before everything that was buffered.
        # @param messages [Messages]
        def push_redelivered(messages) = @backlog.push(messages)

        # @see Backlog#use_cell
        def use_cell(cell) = @backlog.use_cell(cell)

        # @see Backlog#leave_out_below
        def leave_out_below(offset) = @backlog.leave_out_below(offset)

        # Drops buffered records, which are read again.
        def discard = @backlog.discard

        # Cuts records one by one, from one offset up to and including another.
        def isolate(_key, through, from = nil) = @backlog.isolate_through(through, from)

        # Records run in the partition's order anyway; this makes them run one by one, too.
        def collapse(through)
          @collapse_through = [@collapse_through, through].compact.max
          @backlog.isolate_through(through)
        end

        # Only whole lanes wait, by a hold of the lane.
        def next_due = nil
        def expire(_now) = nil

        # Marks of a whole partition are a watermark of the lane.
        def each_mark(_base) = nil

        # @return [Integer, nil] offset of the first buffered record
        def first_offset = @backlog.first_offset

        # Drops everything that was buffered.
        def clear
          @collapse_through = nil
          @backlog.clear
        end

        # @return [Hash] for snapshots
        def to_h = {backlog: @backlog.size}

        private

        # Only while no single record has attempts, is suspected, or must run alone.
        def multiple_calls?(lane)
          return false if @collapse_through && @backlog.first_offset <= @collapse_through
          !lane.attempts.any? && (lane.suspects.nil? || lane.suspects.nothing_to_check?)
        end

        def multi_call_unit(lane, messages)
          stretch = MultiCallUnit.new(messages, @max)
          @stretches << stretch
          Unit.new(lane, :consume, nil, nil, 1, lane.incarnation, nil, nil, nil, nil, stretch).tap(&:begin_next_call)
        end
      end
    end
  end
end
