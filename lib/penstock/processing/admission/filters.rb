# frozen_string_literal: true

require_relative "../../errors"
require_relative "../filters/base"
require_relative "block_filter"

module Penstock
  module Processing
    module Admission
      # The filters a route has of its own, in the order in which they are written. They are user code: made and called on
      # workers only, by one at a time, within {Prepare}. An object that is made for a partition lives as long as its assignment.
      #
      # What a filter takes out of the batch is dropped, unless it asks for a pause or a seek: then everything from its `cursor`
      # on waits, what it left in included, because it would be run twice otherwise.
      class Filters
        REASON = :filter
        # A filter that says "wait 0 ms" is asked again after that; without it, it would be asked all the time.
        SHORTEST_MS = 10
        LONGEST_MS = 365 * 86_400_000
        CONTRACT = %i[apply! applied? action timeout cursor].freeze
        private_constant :SHORTEST_MS, :LONGEST_MS, :CONTRACT

        # A filter took out, added or moved records in a way that can't be followed.
        class Misused < StandardError
          include Error
        end

        # @param specs [Array<Routing::Filter>]
        # @param topic [Routing::Topic] handed to factories
        # @param place [Hash] topic and partition, for events
        # @param default_ms [Integer] length of a pause that a filter asks for without one
        def initialize(specs, topic:, place:, default_ms:)
          @specs = specs
          @topic = topic
          @place = place
          @default_ms = default_ms
          @filters = nil
        end

        def empty? = @specs.empty?

        # @param selection [Selection]
        # @param undecodable [Hash] offsets that no filter gets to see
        # @raise what a filter raises; the selection is of no use then
        def call(selection, now_ms, undecodable)
          asked = filters.filter_map { |filter| answer(filter, selection, undecodable) }
          wishes = asked.group_by { |filter| filter.action.to_sym }
          pause(selection, wishes[:pause], now_ms) if wishes[:pause]
          seek(selection, wishes[:seek]) if wishes[:seek]
        end

        private

        def filters = @filters ||= @specs.map { |spec| spec.keep ? BlockFilter.new(spec.keep) : built(spec.factory) }

        # All that is missing at once.
        def built(factory)
          filter = factory.call(@topic, @place.fetch(:partition))
          missing = CONTRACT.reject { |name| filter.respond_to?(name) }
          return filter if missing.empty?
          raise Misused, "what a filter's factory made (#{filter.class}) has no #{missing.join(", ")}. Inherit from Penstock::Filter"
        end

        # @return [Object, nil] the filter, where it asks for something
        def answer(filter, selection, undecodable)
          given = selection.each_position.reject { |position| undecodable.key?(selection.messages.offset_at(position)) }
          before = given.map { |position| selection.messages[position] }
          after = before.dup
          filter.apply!(after)
          take_out(filter, selection, given, before, after) unless after.size == before.size && after == before
          filter if filter.applied?
        end

        def take_out(filter, selection, given, before, after)
          left = {}.compare_by_identity
          after.each { |message| left[message] = true }
          kept = before.select { |message| left.key?(message) }
          raise Misused, misuse(filter) unless kept.size == after.size && kept.zip(after).all? { |a, b| a.equal?(b) }
          given.each_with_index { |position, index| selection.drop(position) unless left.key?(before[index]) }
        end

        def misuse(filter)
          "#{filter.class}#apply! may only delete from the messages it is given (`delete_if`), and must keep their order"
        end

        def pause(selection, filters, now_ms)
          wait_ms = filters.map { |filter| filter.timeout || @default_ms }.min.clamp(SHORTEST_MS, LONGEST_MS).ceil
          cursor = lowest(filters)
          stop_at(selection, cursor)
          selection.hold_until(REASON, now_ms + wait_ms)
          selection.event("filtering.throttled", {**@place, offset: cursor&.offset, timeout: wait_ms, message: cursor,
            reason: REASON.to_s})
        end

        # A seek past the place another filter waits at would leave records out; that one is asked for again behind the pause.
        def seek(selection, filters)
          cursor = lowest(filters) or raise Misused, "#{filters.first.class}#cursor must be the message to go on at, is nil"
          wait = selection.waits_from
          return if wait && cursor.offset > wait
          stop_at(selection, cursor)
          selection.seek(cursor.offset)
          selection.event("filtering.seek", {**@place, offset: cursor.offset, message: cursor})
        end

        def lowest(filters) = filters.map(&:cursor).compact.min_by(&:offset)

        # What a filter took out at or behind its cursor isn't dropped after all.
        def stop_at(selection, cursor)
          return unless cursor
          messages = selection.messages
          position = (0...messages.size).bsearch { |index| messages.offset_at(index) >= cursor.offset }
          selection.all_wait_from(position) if position
        end
      end
    end
  end
end
