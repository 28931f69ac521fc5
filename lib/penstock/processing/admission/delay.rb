# frozen_string_literal: true

require_relative "first_seen"
require_relative "header_ms"

module Penstock
  module Processing
    module Admission
      # Implements `delay_by`: admits no record before it has that age. The first record that is too young holds the lane until
      # it is due; the records after it wait too, regardless of their age, so that the order is kept.
      #
      # A record waits no longer than the delay, counted from when it was first checked, so that no wrong clock, neither the
      # producer's nor this machine's, can block a lane. A wall clock that is set ahead admits nothing early ({CautiousClock}). A
      # record without a timestamp waits the full delay. A record's own delay may be in a header.
      #
      # One per lane, called on its poll loop.
      class Delay
        REASON = :delay

        # @param delay [Routing::DelayBy]
        # @param clock [CautiousClock] the process's; one that is first read with a record would trust any time
        def initialize(delay, clock)
          @delay_ms = delay.delay_ms || 0
          @own_delay = HeaderMs.for(delay.header)
          @max_ms = delay.max
          @clock = clock
          @window_ms = delay.longest_ms
          @first_seen = FirstSeen.new
        end

        # @param selection [Selection]
        # @return [Integer, nil] position of the first record that waits
        def call(selection, now_ms, wall_ms)
          return if selection.messages.empty?
          wall_ms = @clock.call(now_ms, wall_ms, @window_ms)
          @first_seen.look(selection.messages, now_ms)
          selection.each_position do |position|
            next if selection.exempt?(position)
            due = due_at(selection.messages, position, now_ms, wall_ms)
            next if due <= now_ms
            selection.wait_from(position)
            selection.hold_until(REASON, due)
            return position
          end
          nil
        end

        def recheck? = false

        # The lane continues at another offset.
        def reset = @first_seen.reset

        private

        def due_at(messages, position, now_ms, wall_ms)
          delay_ms = delay_of(messages, position)
          stamp = messages.timestamp_at(position)
          return now_ms if stamp + delay_ms <= wall_ms && !stamp.negative?
          latest = @first_seen.at(messages.offset_at(position)) + delay_ms
          stamp.negative? ? latest : [latest, now_ms + stamp + delay_ms - wall_ms].min
        end

        def delay_of(messages, position)
          own = @own_delay&.call(messages, position)
          own ? [own, @max_ms].min : @delay_ms
        end
      end
    end
  end
end
