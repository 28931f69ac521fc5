# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../on_demand"
require_relative "block_filter"
Penstock.load_constant :Filter

module Penstock
  module Processing
    module Admission
      # Runs a route's own filters, in the order in which they are declared. They are user code: created and called on workers
      # only, by one at a time, within {Prepare}. An object created for a partition lives as long as its assignment.
      #
      # Records that a filter removes from the batch are dropped, unless it requests a pause or a seek: then everything from its
      # `cursor` on waits, including records it kept, because they would run twice otherwise.
      class Filters
        REASON = :filter
        # The shortest pause: a filter that requests 0 ms would otherwise be called continuously.
        SHORTEST_MS = 10
        LONGEST_MS = 365 * 86_400_000
        CONTRACT = %i[apply! applied? action timeout cursor].freeze
        private_constant :SHORTEST_MS, :LONGEST_MS, :CONTRACT

        # Raised when a filter did something to its Array other than deleting messages.
        class Misused < StandardError
          include Error
        end

        # @param specs [Array<Routing::Filter>]
        # @param topic [Routing::Topic] handed to factories
        # @param place [Hash] topic and partition, for events
        # @param default_ms [Integer] length of a pause for which a filter sets no timeout
        def initialize(specs, topic:, place:, default_ms:)
          @specs = specs
          @topic = topic
          @place = place
          @default_ms = default_ms
          @filters = nil
        end

        def empty? = @specs.empty?

        # @param selection [Selection]
        # @param undecodable [Hash] offsets that no filter sees
        # @raise what a filter raises; the selection is unusable then
        def call(selection, now_ms, undecodable)
          requesting = filters.filter_map { |filter| apply(filter, selection, undecodable) }
          requests = requesting.group_by { |filter| filter.action.to_sym }
          pause(selection, requests[:pause], now_ms) if requests[:pause] && !seek_comes_first?(requests)
          seek(selection, requests[:seek]) if requests[:seek]
        end

        private

        def filters
          @filters = nil if @filters&.any? { |filter| @topic.outdated?(filter) }
          @filters ||= @specs.map { |spec| spec.keep ? BlockFilter.new(spec.keep) : built(spec.factory) }
        end

        # Reports all missing methods at once.
        def built(factory)
          filter = factory.call(@topic, @place.fetch(:partition))
          missing = CONTRACT.reject { |name| filter.respond_to?(name) }
          return filter if missing.empty?
          raise Misused, "#{filter.class}, returned by a filter's factory, has no #{missing.join(", ")}: " \
            "inherit from Penstock::Filter"
        end

        # @return [Object, nil] the filter, if it requests a pause or a seek
        def apply(filter, selection, undecodable)
          given = selection.each_position.reject { |position| undecodable.key?(selection.messages.offset_at(position)) }
          before = given.map { |position| selection.messages[position] }
          after = before.dup
          filter.apply!(after)
          drop_removed(filter, selection, given, before, after) unless after.size == before.size && after == before
          filter if filter.applied?
        end

        def drop_removed(filter, selection, given, before, after)
          left = {}.compare_by_identity
          after.each { |message| left[message] = true }
          kept = before.select { |message| left.key?(message) }
          raise Misused, misuse(filter) unless kept.size == after.size && kept.zip(after).all? { |a, b| a.equal?(b) }
          given.each_with_index { |position, index| selection.drop(position) unless left.key?(before[index]) }
        end

        def misuse(filter)
          "#{filter.class}#apply! may only delete from the messages it is given (`delete_if`), and must keep their order"
        end

        # Records after a seek's target are read again, and a filter that wants to wait at one of them is called again.
        def seek_comes_first?(requests)
          pause, seek = requests.values_at(:pause, :seek).map { |filters| lowest(filters || []) }
          !pause.nil? && !seek.nil? && seek.offset < pause.offset
        end

        def pause(selection, filters, now_ms)
          wait_ms = filters.map { |filter| filter.timeout || @default_ms }.min.clamp(SHORTEST_MS, LONGEST_MS).ceil
          cursor = lowest(filters)
          wait_from_cursor(selection, cursor)
          selection.hold_until(REASON, now_ms + wait_ms)
          selection.event("filtering.throttled", {**@place, offset: cursor&.offset, timeout: wait_ms, message: cursor,
            reason: REASON.to_s})
        end

        # A seek past the offset at which another filter waits would skip records; the filter requests it again after the pause.
        def seek(selection, filters)
          cursor = lowest(filters) or raise Misused, "#{filters.first.class}#cursor is nil: return the message to seek to"
          wait = selection.waits_from
          return if wait && cursor.offset > wait
          wait_from_cursor(selection, cursor)
          selection.seek(cursor.offset)
          selection.event("filtering.seek", {**@place, offset: cursor.offset, message: cursor})
        end

        def lowest(filters) = filters.map(&:cursor).compact.min_by(&:offset)

        # Records that a filter removed at or after its cursor aren't dropped.
        def wait_from_cursor(selection, cursor)
          return unless cursor
          messages = selection.messages
          position = (0...messages.size).bsearch { |index| messages.offset_at(index) >= cursor.offset }
          selection.all_wait_from(position) if position
        end
      end
    end
  end
end
