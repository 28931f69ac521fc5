# frozen_string_literal: true

require_relative "../point_in_time"

module Penstock
  module CLI
    module Groups
      # Where `groups reset` moves a group's offsets: computed from what the user typed. A value.
      class Move
        WAYS = "give --to earliest, latest, an offset or a time (15m, 2h, 7d ago, 2026-01-31T12:00:00Z), or --by a number of " \
          "records"

        # @param to [String, nil]
        # @param by [String, nil]
        # @param now_ms [Integer] ms since 1970
        # @raise [ArgumentError] neither, both, a time in the future, or something else
        def initialize(to, by, now_ms)
          raise ArgumentError, WAYS if to.nil? == by.nil?

          @distance = distance(by) if by
          @target = target(to, now_ms) if to
        end

        # @param admin [Admin]
        # @param rows [Array<Hash>] `topic`, `partition`, `committed` (nil: none)
        # @return [Hash{(String, Integer) => Integer}] the new offsets; within the log where they are computed
        def offsets(admin, rows)
          pairs = rows.map { |row| row.values_at(:topic, :partition) }
          bounds = bounds_of(admin, pairs)
          times = @target.is_a?(Time) ? times_of(admin, pairs) : {}
          rows.to_h do |row|
            pair = row.values_at(:topic, :partition)
            [pair, offset(row, *bounds.fetch(pair), times[pair])]
          end
        end

        # @return [Boolean] whether it starts from what was committed
        def relative? = !@distance.nil?

        private

        def distance(text)
          Integer(text, 10, exception: false) || raise(ArgumentError, "--by #{text.inspect} is not a number of records")
        end

        def target(text, now_ms)
          return text.to_sym if %w[earliest latest].include?(text)
          return Integer(text, 10) if text.match?(/\A\d+\z/)

          time_ms = PointInTime.parse(text, now_ms)
          raise ArgumentError, "--to #{text} is in the future: for the end of each partition, write --to latest" if
            time_ms > now_ms

          Time.at(0, time_ms, :millisecond)
        end

        def offset(row, first, last, at_time)
          case @target
          when :earliest then first
          when :latest then last
          when Integer then @target
          when Time then (at_time.nil? || at_time.negative?) ? last : at_time
          else (row[:committed] + @distance).clamp(first, last)
          end
        end

        def bounds_of(admin, pairs)
          found = admin.read_watermark_offsets(by_topic(pairs))
          pairs.to_h { |topic, partition| [[topic, partition], found.fetch(topic).fetch(partition)] }
        end

        def times_of(admin, pairs)
          found = admin.offsets_for_times(by_topic(pairs).transform_values { |list| list.to_h { |one| [one, @target] } })
          pairs.to_h { |topic, partition| [[topic, partition], found.dig(topic, partition)] }
        end

        def by_topic(pairs) = pairs.group_by(&:first).transform_values { |same| same.map(&:last) }
      end
    end
  end
end
