# frozen_string_literal: true

require "penstock/errors"

module Penstock
  module TestSupport
    # The ledger implemented a second time, in plain Ruby and from its description alone, to compare the C
    # implementation with. It keeps every offset by itself, so it is slow and simple.
    class ReferenceLedger
      attr_reader :base, :tail

      def initialize(base = nil)
        reset(base)
      end

      def reset(base)
        @base = @tail = base
        @incomplete = []
        @done = []
        @restored = []
      end

      def known? = !@base.nil?

      def dry? = @base == @tail

      def incomplete = @incomplete.size

      def span = known? ? @tail - @base : 0

      def restore(ranges)
        @restored = ranges.select { |from, _to| from > @tail }
      end

      def admit(from, to, offsets = nil)
        raise LaneDiscontinuity, "#{from}...#{to}, tail #{@tail}" if (known? && from != @tail) || to < from
        offsets ||= (from...to).to_a
        raise ArgumentError if offsets.any? { |offset| !(from...to).cover?(offset) } || offsets != offsets.uniq.sort
        complete = offsets.each_index.select { |index| restored?(offsets[index]) }
        offsets.each { |offset| restored?(offset) ? note(offset) : @incomplete << offset }
        @tail = to
        @base = @incomplete.first || to
        complete unless complete.empty?
      end

      def admit_batch(from, to, batch) = admit(from, to, Array.new(batch.size) { |index| batch.offset(index) })

      def complete(offset)
        index = @incomplete.bsearch_index { |open| open >= offset }
        return false unless index && @incomplete[index] == offset
        @incomplete.delete_at(index)
        note(offset)
        @base = @incomplete.first || @tail
        true
      end

      def complete_many(offsets) = offsets.count { |offset| complete(offset) }

      def complete_through(offset)
        before = @base
        @incomplete.select { |open| open < offset }.each { |open| complete(open) } if known?
        # After the last record, or within a gap, there is nothing to complete: the base is at a record or at the tail.
        @base != before
      end

      def complete?(offset)
        return false unless known?
        (offset < @tail) ? @incomplete.bsearch { |open| open >= offset } != offset : restored?(offset)
      end

      def incomplete_offsets(limit = nil) = limit ? @incomplete.first(limit) : @incomplete.dup

      def incomplete_between(from, to) = @incomplete.select { |offset| offset >= from && offset < to }

      def first_incomplete = @incomplete.first

      def committable
        return @base if @base.nil? || !@incomplete.empty?
        @restored.find { |from, to| from <= @tail && to > @tail }&.last || @base
      end

      def ranges(limit = nil)
        return [] unless known?
        lowest = committable
        found = joined(between_incomplete + beyond_tail).select { |from, _to| from > lowest }
        limit ? found.first(limit) : found
      end

      private

      # Records that are complete, ascending.
      def note(offset)
        @done.insert(@done.bsearch_index { |known| known >= offset } || @done.size, offset)
      end

      def restored?(offset) = @restored.any? { |from, to| (from...to).cover?(offset) }

      # Runs up to the tail. A run that continues a restored one counts although it may consist of a gap only.
      def between_incomplete
        edges = [*@incomplete, @tail]
        edges.each_cons(2).filter_map do |left, right|
          next if left + 1 == right
          record = @done.bsearch { |offset| offset > left }
          [left + 1, right] if (record && record < right) || (right == @tail && restored?(@tail))
        end
      end

      def beyond_tail
        @restored.select { |_from, to| to > @tail }.map { |from, to| [[from, @tail].max, to] }
      end

      def joined(ranges)
        ranges.each_with_object([]) do |(from, to), found|
          (found.last && found.last[1] == from) ? found.last[1] = to : found << [from, to]
        end
      end
    end
  end
end
