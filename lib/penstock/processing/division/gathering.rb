# frozen_string_literal: true

require_relative "../../on_demand"
Penstock.load_constant :Messages

module Penstock
  module Processing
    module Division
      # Implements `batch min:, bytes:, within:`, in front of a division of either kind: admitted records gather here until there
      # are `min` of them, or `bytes` bytes, or until `within` ms have passed since the first. More records are taken meanwhile,
      # and no record waits twice: records that failed or were called back are in the division and run as usual.
      #
      # Units are cut from all gathered records, so that a bulk insert gets its `min` even if they arrived one by one. A remainder
      # of full units that is less than `min`, and has fewer bytes, keeps gathering. Owned by its lane, like the division that it
      # feeds.
      class Gathering
        %i[
          by_key? pace width width= waiting? next_unit fresh? probe record_time returned put_back requeue isolate
          calls= collapse park release each_mark done unmarked? completed busy_keys block unblock wanted room_bytes
          push_redelivered leave_out_below redeliver any_unmarked? settled held_with each_unit ended_units full
        ].each do |name|
          define_method(name) { |*arguments, **options, &block| @division.public_send(name, *arguments, **options, &block) }
        end

        # @param division [InOrder, ByKey]
        # @param batch [Routing::Batch]
        # @param max [Integer] most records of a unit
        # @param clock [Clock]
        def initialize(division, batch, max:, clock:)
          @division = division
          @min = batch.min || max
          @least_bytes = batch.bytes || Float::INFINITY
          @within = batch.within
          @max = max
          @clock = clock
          reset
        end

        # @param messages [Messages] records that follow everything pushed before
        # @param keys [Array<Object>, nil]
        # @param lane [Lane]
        def push(messages, keys, lane)
          return if messages.empty?
          @lane = lane
          @due ||= @clock.monotonic_ms + @within
          @batch = messages.batch
          added = messages.to_a
          @messages.concat(added)
          @bytes += added.sum(&:bytesize)
          @keyed ||= !keys.nil?
          @keys.concat(keys || Array.new(messages.size))
          push_gathered(count_to_push) if @messages.size >= @min || @bytes >= @least_bytes
        end

        # @return [Boolean] whether nothing is buffered
        def empty?(limit = nil) = limit ? @division.empty?(limit) : @messages.empty? && @division.empty?

        # @return [Integer] buffered records
        def size = @messages.size + @division.size

        # @return [Integer, nil] offset of the first buffered record
        def first_offset = @division.first_offset || @messages.first&.offset

        # @return [Integer, nil] monotonic ms
        def next_due = [@due, @division.next_due].compact.min

        # @param now [Integer] monotonic ms
        def expire(now)
          push_gathered(@messages.size) if @due && @due <= now
          @division.expire(now)
        end

        # @see InOrder#use_cell
        def use_cell(cell)
          @messages.map! { |message| message.mark_cell.equal?(cell) ? message : message.again(cell) }
          @division.use_cell(cell)
        end

        # Buffered records are read again, and aren't gathered a second time.
        def discard
          reset
          @division.discard
        end

        # Drops everything that was buffered.
        def clear
          reset
          @division.clear
        end

        # @return [Hash] for snapshots
        def to_h = @division.to_h.merge(gathering: @messages.size)

        private

        def reset
          @messages = []
          @keys = []
          @keyed = false
          @bytes = 0
          @due = nil
        end

        # @return [Integer] number of records: full units, plus the remainder if it is large enough by itself
        def count_to_push
          left = @messages.size % @max
          keeps = left < @min && (left.zero? || @messages.last(left).sum(&:bytesize) < @least_bytes)
          keeps ? @messages.size - left : @messages.size
        end

        # The wait of the remaining records starts again.
        def push_gathered(count)
          going, keys = @messages.shift(count), @keys.shift(count)
          @bytes = @messages.sum(&:bytesize)
          @due = @messages.empty? ? nil : @clock.monotonic_ms + @within
          going = Messages::Listed.new(going, @batch, scheduled_ms: @clock.wall_ms)
          @division.push(going, (keys if @keyed), @lane)
        end
      end
    end
  end
end
