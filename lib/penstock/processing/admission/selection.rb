# frozen_string_literal: true

require_relative "run"

module Penstock
  module Processing
    module Admission
      # The value that steps narrow one after another: records by position, which of them are dropped, from which one on they
      # wait, and until when. Waiting records are always a tail, so that no record overtakes another.
      #
      # Created for one call, used and discarded by the same thread.
      class Selection
        attr_reader :messages, :keys, :hold, :seek_to, :events

        # @param messages [Messages]
        # @param keys [Array<Object>, nil] one per record
        def initialize(messages, keys = nil)
          @messages = messages
          @keys = keys
          @limit = messages.size
          @dropped = @exempt = nil
          @hold = nil
          @seek_to = nil
          @events = []
        end

        # @yieldparam position [Integer] of every record that would be admitted so far
        def each_position
          return enum_for(:each_position) unless block_given?
          position = 0
          while position < @limit # not a range: a step may lower the limit while it looks
            yield position unless @dropped&.key?(position)
            position += 1
          end
        end

        # @return [Enumerator<Integer>] positions of the records that would be admitted so far, without exempt ones
        def each_counted_position
          @exempt ? each_position.lazy.reject { |position| exempt?(position) } : each_position
        end

        # @param position [Integer] of a record that is admitted, but won't run: it doesn't wait and isn't counted
        def exempt(position)
          (@exempt ||= {})[position] = true
        end

        def exempt?(position) = @exempt ? @exempt.key?(position) : false

        # @return [Integer] number of records that would be admitted so far
        def size = @dropped ? each_position.count : @limit

        # @param position [Integer] of a record that will never run
        def drop(position)
          (@dropped ||= {})[position] = true
        end

        # @param position [Integer] from here on records wait
        def wait_from(position)
          @limit = [@limit, position].min
        end

        # As {#wait_from}; records dropped from there on wait too.
        # @param position [Integer]
        def all_wait_from(position)
          wait_from(position)
          @dropped&.delete_if { |dropped, _| dropped >= position }
        end

        # @return [Integer, nil] offset of the first record that waits
        def waits_from = (@limit < @messages.size) ? @messages.offset_at(@limit) : nil

        # Holds the lane. The hold that ends first counts, because everything is looked at again then.
        # @param reason [Symbol]
        # @param at_ms [Integer] monotonic
        def hold_until(reason, at_ms)
          @hold = [reason, at_ms].freeze if @hold.nil? || at_ms < @hold.last
        end

        # @param offset [Integer] where the lane continues; the lowest of several counts, so that nothing is skipped
        def seek(offset)
          @seek_to = [@seek_to, offset].compact.min
        end

        # @param name [String]
        # @param payload [Hash]
        def event(name, payload)
          @events << [name, payload]
        end

        # @return [Run]
        def run
          Run.new(messages: messages_at(admitted), keys: keys_of(admitted), rest: messages_at(waiting),
            rest_keys: keys_of(waiting), dropped: dropped_offsets, hold: @hold, seek_to: @seek_to, events: @events).freeze
        end

        private

        def admitted = @admitted ||= @dropped ? each_position.to_a : (0...@limit)
        def waiting = @waiting ||= without_dropped(@limit...@messages.size)
        def without_dropped(range) = @dropped ? range.reject { |position| @dropped.key?(position) } : range

        # Adjacent records stay a slice of their batch, which costs nothing.
        def messages_at(positions)
          return @messages if positions.size == @messages.size
          return @messages.slice(positions.first || 0, positions.size) if contiguous?(positions)
          @messages.pick(positions)
        end

        def contiguous?(positions)
          positions.is_a?(Range) || positions.empty? || positions.last - positions.first + 1 == positions.size
        end

        def keys_of(positions) = @keys && ((positions.size == @keys.size) ? @keys : @keys.values_at(*positions))
        def dropped_offsets = @dropped ? @dropped.keys.sort.map { |position| @messages.offset_at(position) } : []
      end
    end
  end
end
