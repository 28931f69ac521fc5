# frozen_string_literal: true

require_relative "../failure/provenance"

module Penstock
  module Processing
    module Admission
      # Records of a retry topic wait until the time their header tells. All of a topic wait equally long, so that the first one
      # that isn't due holds those behind it. None waits longer than the topic's delay from when it was first looked at: no clock
      # freezes a lane. One without a readable header is somebody else's and goes in at once.
      #
      # One a lane, called on its poll loop.
      class Due
        REASON = :delay

        # @param delay_ms [Integer] the topic's
        def initialize(delay_ms)
          @delay_ms = delay_ms
          @standing = nil
        end

        # @param selection [Selection]
        # @return [Integer, nil] position of the first record that waits
        def call(selection, now_ms, wall_ms)
          selection.each_position do |position|
            due = due_at(selection.messages, position, now_ms, wall_ms)
            next if due <= now_ms

            selection.wait_from(position)
            selection.hold_until(REASON, due)
            return position
          end
          nil
        end

        def again? = false

        # The lane goes on elsewhere.
        def reset = @standing = nil

        private

        def due_at(messages, position, now_ms, wall_ms)
          stamp = Failure::Provenance.due_at(messages.keyed(position)) or return now_ms
          return now_ms if stamp <= wall_ms

          [now_ms + stamp - wall_ms, latest(messages.offset_at(position), now_ms)].min
        end

        # Only the record the lane stands at is looked at twice.
        def latest(offset, now_ms)
          @standing = [offset, now_ms + @delay_ms] unless @standing&.first == offset
          @standing.last
        end
      end
    end
  end
end
