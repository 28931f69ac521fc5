# frozen_string_literal: true

require_relative "../failure/provenance"
require_relative "first_seen"

module Penstock
  module Processing
    module Admission
      # Holds records until the time in their header `penstock_due_at`: in retry topics, in delay topics, and in the topics of
      # every other feature whose value has `due_within_ms`. All records of a topic wait about equally long, so the first one that
      # isn't due holds the ones after it. No record waits longer than the topic's delay, counted from when it was first checked,
      # so that no wrong clock can block a lane. A wall clock that is set ahead admits nothing early for a while
      # ({CautiousClock}). A record without a readable header wasn't written by Penstock and is admitted at once.
      #
      # One per lane, called on its poll loop.
      class Due
        REASON = :delay
        # How long a clock that was set ahead isn't trusted: as long as by the consumer of delay topics, which would write back
        # records that leave too early. Also the interval at which a waiting lane is checked, so that a change of the clock is
        # noticed.
        CAUTION_MS = 60_000
        private_constant :CAUTION_MS

        # @param delay_ms [Integer] the topic's
        # @param clock [CautiousClock] the process's; one that is first read with a record would trust any time
        def initialize(delay_ms, clock)
          @delay_ms = delay_ms
          @clock = clock
          @first_seen = FirstSeen.new
        end

        # @param selection [Selection]
        # @return [Integer, nil] position of the first record that waits
        def call(selection, now_ms, wall_ms)
          return if selection.messages.empty?
          @first_seen.look(selection.messages, now_ms)
          trusted = @clock.call(now_ms, wall_ms, CAUTION_MS)
          selection.each_position do |position|
            due = due_at(selection.messages, position, now_ms, trusted)
            next if due <= now_ms

            selection.wait_from(position)
            selection.hold_until(REASON, [due, now_ms + CAUTION_MS].min)
            return position
          end
          nil
        end

        def recheck? = false

        # The lane continues at another offset.
        def reset = @first_seen.reset

        private

        def due_at(messages, position, now_ms, wall_ms)
          stamp = Failure::Provenance.due_at(messages.keyed(position)) or return now_ms
          return now_ms if stamp <= wall_ms

          [now_ms + stamp - wall_ms, @first_seen.at(messages.offset_at(position)) + @delay_ms].min
        end
      end
    end
  end
end
