# frozen_string_literal: true

require_relative "../../messages/listed"

module Penstock
  module Processing
    module Division
      # `batch min:, within:` before a division of either kind: what was let in gathers here until `min` records are there, or
      # until `within` ms have passed since the first of them. More is taken meanwhile, and nothing waits twice: what failed, or
      # was called back, is the division's and runs as ever.
      #
      # Units are cut from what gathered together, so that a bulk insert gets its `min` although they came one by one. What is
      # left over of a full unit and is less than `min` goes on gathering. Owned by its lane, like the division behind it.
      class Gathering
        %i[
          rolling? quick? width width= look_ahead waiting? next_unit fresh? probe took returned take_back requeue isolate calls=
          collapse park release each_mark done unmarked? completed busy_keys block unblock wanted room_bytes again come_again
          any_unmarked? settled held_with each_unit
        ].each do |name|
          define_method(name) { |*arguments, &block| @division.public_send(name, *arguments, &block) }
        end

        # @param division [Whole, Rolling]
        # @param batch [Routing::Batch]
        # @param max [Integer] most records of a unit
        # @param clock [Clock]
        def initialize(division, batch, max:, clock:)
          @division = division
          @min = batch.min
          @within = batch.within
          @max = max
          @clock = clock
          forget
        end

        # @param messages [Messages] records that follow everything pushed before
        # @param keys [Array<Object>, nil]
        # @param lane [Lane]
        def push(messages, keys, lane)
          return if messages.empty?
          @lane = lane
          @due ||= @clock.monotonic_ms + @within
          @batch = messages.batch
          @messages.concat(messages.to_a)
          @keys.concat(keys || Array.new(messages.size))
          let_go(enough) if @messages.size >= @min
        end

        # @return [Boolean] whether nothing is at hand
        def empty? = @messages.empty? && @division.empty?

        # @return [Integer] records at hand
        def size = @messages.size + @division.size

        # @return [Integer, nil] the first record at hand
        def first_offset = @division.first_offset || @messages.first&.offset

        # @return [Integer, nil] monotonic ms
        def next_due = [@due, @division.next_due].compact.min

        # @param now [Integer] monotonic ms
        def expire(now)
          let_go(@messages.size) if @due && @due <= now
          @division.expire(now)
        end

        # @see Whole#rejoin
        def rejoin(cell)
          @messages.map! { |message| message.mark_cell.equal?(cell) ? message : message.again(cell) }
          @division.rejoin(cell)
        end

        # What is at hand is read again, and isn't gathered a second time.
        def discard
          forget
          @division.discard
        end

        # Nothing that was at hand counts any more.
        def clear
          forget
          @division.clear
        end

        # @return [Hash] for snapshots
        def to_h = @division.to_h.merge(gathering: @messages.size)

        private

        def forget
          @messages = []
          @keys = []
          @due = nil
        end

        # @return [Integer] records: full units, and what is left if it makes one of its own
        def enough
          left = @messages.size % @max
          (left < @min) ? @messages.size - left : @messages.size
        end

        # The time of what stays behind begins anew.
        def let_go(count)
          going, keys = @messages.shift(count), @keys.shift(count)
          @due = @messages.empty? ? nil : @clock.monotonic_ms + @within
          going = Messages::Listed.new(going, @batch, scheduled_ms: @clock.wall_ms)
          @division.push(going, (keys unless keys.all?(&:nil?)), @lane)
        end
      end
    end
  end
end
