# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # Measures how quick the units of a lane are whose keys run in parallel, and computes how many are handed out in advance.
      # Owned by its division.
      #
      # Beyond the units that may run: one per worker and a few more, so that no worker waits for an iteration of the poll loop.
      # While units are quick, the number grows, because an iteration costs more than they do. While they take up to AHEAD_US, it
      # is what workers run in that time, so that an iteration serves many of them. It shrinks at once.
      class Pace
        SPARE = 2
        MOST_AHEAD = 512
        QUICK_US = 1_000
        AHEAD_US = 10_000
        # Units quicker than this end before a second worker would have begun the next one, so one worker runs them.
        BUSY_US = 150
        private_constant :SPARE, :MOST_AHEAD, :QUICK_US, :AHEAD_US, :BUSY_US

        # @return [Integer] units that may run at once
        attr_reader :width

        # @return [Integer] units that may be handed out beyond these
        attr_reader :look_ahead

        # @return [Integer] the least of {#look_ahead}
        attr_reader :least_ahead

        # @return [Integer] active lanes, among which the workers are shared
        attr_writer :sharing

        def initialize
          @time_us = QUICK_US
          @unit_records = 1.0
          @sharing = 1
        end

        # @param width [Integer] from now on
        # @param window_records [Integer] most incomplete records: at most half of them are handed out in advance
        def resize(width, window_records)
          @width = width
          @look_ahead = @least_ahead = width + SPARE
          @most_ahead = ((window_records / 2) - width).clamp(@least_ahead, [MOST_AHEAD, @least_ahead].max)
        end

        # @return [Boolean] whether units end before another worker would have begun
        def quick? = @time_us < BUSY_US

        # @return [Integer, nil] if workers have no more units than that left, they need more soon; nil: few are handed out in
        #   advance anyway
        def low_mark = (@look_ahead / 2 if @look_ahead > @least_ahead)

        # @param time_us [Integer] duration of a unit
        # @param records [Integer] number of its records
        def record(time_us, records)
          @time_us += (time_us - @time_us) / 8
          @unit_records += (records - @unit_records) / 8
          @look_ahead = (time_us < QUICK_US) ? [@look_ahead + 1, @most_ahead].min : look_ahead_of_slower
        end

        private

        # A unit of many records serves many of them already, and is the smaller the earlier it is cut.
        def look_ahead_of_slower
          wanted = (@width * AHEAD_US / ([@time_us, QUICK_US].max * @unit_records * @sharing)).to_i
          wanted = wanted.clamp(@least_ahead, @most_ahead)
          (@look_ahead < wanted) ? @look_ahead + 1 : [@look_ahead / 2, wanted].max
        end
      end
    end
  end
end
