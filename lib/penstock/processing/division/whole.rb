# frozen_string_literal: true

require_relative "../backlog"
require_relative "../stretch"
require_relative "../unit"

module Penstock
  module Processing
    module Division
      # One unit at a time a partition, in offset order: records wait in one row and pieces are cut from it. What is behind the
      # running unit may be handed out already, so that a worker never waits for a turn of the loop. Owned by its lane.
      class Whole
        # One unit runs, one waits behind it.
        LOOK_AHEAD = 1
        # Units that end within a millisecond or so wait in greater numbers: a turn of the loop costs more than they do.
        QUICK_LOOK_AHEAD = 3
        QUICK_US = 2_000
        # Calls of `consume` that are over sooner come several to a unit: so many at most, and so many records.
        VERY_QUICK_US = 250
        MOST_CALLS = 8
        MOST_RECORDS = 1_000

        # @return [Integer] units that may wait behind the one that runs
        attr_reader :look_ahead
        # @return [Numeric] most bytes of a take
        attr_reader :room_bytes

        # @return [Integer] calls of `consume` the next unit may have; set where it is known better
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
          @out = 0
          @collapse_through = nil
          @look_ahead = LOOK_AHEAD
        end

        # One worker is enough for one unit at a time.
        def quick? = false

        # Units of one lane run one after another; one that went wrong holds up those behind it until the loop has decided.
        def rolling? = false

        # @param messages [Messages] records that follow everything pushed before
        def push(messages, _keys = nil, _lane = nil) = @backlog.push(messages)

        # @return [Boolean] whether nothing is at hand
        def empty? = @backlog.empty?

        # @return [Integer] records at hand
        def size = @backlog.size

        # @return [Boolean] whether a unit could be cut
        def waiting? = !@backlog.empty? && @out <= @look_ahead

        # @return [Integer] records to take from the source
        def wanted(_lane) = (@backlog.empty? && @out <= @look_ahead) ? @max * @calls * (1 + @look_ahead) : 0

        # @param lane [Lane]
        # @return [Unit]
        def next_unit(lane)
          several = @calls > 1 && several?(lane)
          messages = @backlog.cut(several ? @max * @calls : @max)
          @out += 1
          return stretched(lane, messages) if messages.size > @max
          last = messages.last_offset
          Unit.new(lane, :consume, messages, last + 1, lane.attempts.of(messages.first_offset) + 1, lane.incarnation,
            nil, nil, nil, @collapse_through && last <= @collapse_through)
        end

        # @param lane [Lane]
        # @return [Boolean] whether the next record has never run
        def fresh?(lane) = !@backlog.empty? && lane.untried?(@backlog.first_offset)

        # @param lane [Lane]
        # @return [Unit] of the first record alone
        def probe(lane)
          @backlog.isolate_through(@backlog.first_offset)
          next_unit(lane)
        end

        # @param time_us [Integer] what a call took
        def took(time_us)
          @look_ahead = (time_us < QUICK_US) ? QUICK_LOOK_AHEAD : LOOK_AHEAD
          @calls = (time_us < VERY_QUICK_US) ? [@calls * 2, @most_calls].min : [@calls / 2, 1].max
        end

        # A unit came back, run or not.
        def returned(unit)
          @out -= 1
          @stretches.delete(unit.stretch) if unit.stretch
        end

        # Units that never started come back, and what runs goes no further than the call it is at.
        # @param units [Array<Unit>] in the order in which they were handed out
        def take_back(units)
          @stretches.each(&:over!)
          units.reverse_each do |unit|
            @backlog.put_back(unit.rest) if unit.rest
            @backlog.put_back(unit.messages)
          end
        end

        # @param messages [Messages] run again before anything else
        def requeue(_key, messages) = @backlog.put_back(messages)

        # Records come again that were handed out before everything at hand.
        # @param messages [Messages]
        def again(messages) = @backlog.push(messages)

        # @see Backlog#rejoin
        def rejoin(cell) = @backlog.rejoin(cell)

        # What is at hand is read again.
        def discard = @backlog.discard

        # Records are cut one by one, from one offset up to and including another.
        def isolate(_key, through, from = nil) = @backlog.isolate_through(through, from)

        # They are in one row anyway: one by one, too.
        def collapse(through)
          @collapse_through = [@collapse_through, through].compact.max
          @backlog.isolate_through(through)
        end

        # Only whole lanes wait: a hold of the lane does it.
        def next_due = nil
        def expire(_now) = nil

        # Marks of a whole partition are a watermark of the lane.
        def each_mark(_base) = nil

        # @return [Integer, nil] the first record at hand
        def first_offset = @backlog.first_offset

        # Nothing that was at hand counts any more.
        def clear
          @collapse_through = nil
          @backlog.clear
        end

        # @return [Hash] for snapshots
        def to_h = {backlog: @backlog.size}

        private

        # Not where something is known of single records.
        def several?(lane)
          return false if @collapse_through && @backlog.first_offset <= @collapse_through
          !lane.attempts.any? && (lane.suspects.nil? || lane.suspects.quiet?)
        end

        def stretched(lane, messages)
          stretch = Stretch.new(messages, @max)
          @stretches << stretch
          Unit.new(lane, :consume, nil, nil, 1, lane.incarnation, nil, nil, nil, nil, stretch).tap(&:go_on)
        end
      end
    end
  end
end
