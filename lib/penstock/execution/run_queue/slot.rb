# frozen_string_literal: true

module Penstock
  module Execution
    class RunQueue
      # The queue's state of a lane.
      class Slot
        attr_reader :topic, :pool, :mailbox, :pending
        attr_accessor :running, :queued, :stalled, :width

        # @return [Boolean] whether its units end before another worker would have started: then one worker at a time runs them
        attr_accessor :quick

        # @return [Integer, nil] a worker that leaves no more units than that wakes the loop, once
        attr_reader :low_mark

        # @return [Array<Processing::Unit>] quick units that one worker took together and has not begun
        attr_accessor :chunk

        # @param topic [Object] equal for lanes that share a worker limit
        # @param pool [Consumer::Pool] the lane's consumers
        # @param mailbox [Mailbox] receives the outcomes
        # @param width [Integer] units that may run at once
        # @param ordered [Boolean] whether units after one that failed or made a request wait for the loop
        def initialize(topic, pool = nil, mailbox = nil, width: 1, ordered: width == 1)
          @topic = topic
          @ordered = ordered
          @pool = pool
          @mailbox = mailbox
          @width = width
          @pending = []
          @chunk = []
          @running = 0
          @queued = false
          @stalled = false
          forget
        end

        def ordered? = @ordered

        # @return [Boolean] whether units wait while a worker runs another unit of the same slot
        def units_waiting? = @running.positive? && !(@pending.empty? && @chunk.empty?)

        # Compares the quick units that have not begun with those at the last call.
        # @param now [Integer] monotonic ms
        # @param stuck_ms [Integer]
        # @return [Boolean] whether the worker that has them has begun none for that long
        def check_stuck(now, stuck_ms)
          return now - @seen_at >= stuck_ms if @seen.equal?(@chunk) && @left == @chunk.size
          @seen, @left, @seen_at = @chunk, @chunk.size, now
          false
        end

        # Forgets what {#check_stuck} saw.
        def forget = @seen = @left = @seen_at = nil

        # @return [Array<Processing::Unit>] the units that one worker took and has not begun; they no longer belong to that
        #   worker
        def take_chunk_back = @chunk.shift(@chunk.size)

        # Called by the loop before it waits. The mark is set first: a worker that takes a unit meanwhile sees it.
        # @param low_mark [Integer]
        # @return [Boolean] whether more units than that wait for workers
        def watch_supply(low_mark)
          @low_mark = low_mark
          @pending.size > low_mark
        end

        # A unit was taken. Must be called with the queue's lock held.
        # @return [Integer, nil] the mark, once, if the loop has to be woken to hand out more
        def take_low_mark
          return if @low_mark.nil? || @pending.size > @low_mark
          @low_mark.tap { @low_mark = nil }
        end

        # @return [Integer] workers that could start a unit of it
        def room = @quick ? [1 - @running, 0].max : [@pending.size, @width - @running].min

        # @return [Boolean] whether a unit of it could start
        def startable? = @running < @width && !@stalled && !@pending.empty?
      end
    end
  end
end
