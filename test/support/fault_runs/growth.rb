# frozen_string_literal: true

module Penstock
  module TestSupport
    module FaultRuns
      # Checks whether processes grow: resident memory, descriptors and threads over time, of those that live long
      # enough to measure. The first minutes are warm-up and don't count: those of the process, and again those from its first
      # partitions on, with which its work begins.
      class Growth
        WARM_UP_S = 120
        ENOUGH_S = 240
        # Per hour, beyond the growth of a young process while its heap settles.
        LIMITS = {rss: 24 << 20, fds: 10, threads: 6}.freeze
        # In the measured time. Less than that may be a single step: a thread for a broker that has come, a page of a heap. In
        # a life of ten minutes such a step has the slope of a leak.
        STEPS = {rss: 8 << 20, fds: 5, threads: 3}.freeze

        # @param limits [Hash{Symbol => Integer}] per hour
        # @param steps [Hash{Symbol => Integer}]
        # @param warm_up_s [Numeric]
        def initialize(limits: LIMITS, steps: STEPS, warm_up_s: WARM_UP_S)
          @limits = limits
          @steps = steps
          @warm_up_s = warm_up_s
          @samples = Hash.new { |hash, name| hash[name] = [] }
        end

        # @param members [Array<Member>]
        # @param at [Numeric] seconds
        def sample(members, at = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC))
          members.each { |member| member.usage&.then { |usage| @samples[[member.name, member.assigned?]] << [at, usage] } }
        end

        # @return [Hash{String => Hash}] by member: slopes per hour, and the last values
        def to_h
          @samples.filter_map { |(name, assigned), samples|
            [assigned ? name : "#{name} without partitions", describe(samples)] if old?(samples)
          }.to_h
        end

        # @return [Array<String>]
        def problems
          to_h.flat_map do |name, one|
            @limits.filter_map { |what, limit|
              slope = one[:an_hour][what]
              next unless slope > limit && grown(one, what, slope) > @steps[what]

              "#{name}: #{what} grows by #{slope} an hour#{named(one[:more_threads]) if what == :threads}"
            }
          end
        end

        private

        def old?(samples) = samples.last[0] - samples.first[0] > @warm_up_s + ENOUGH_S

        def describe(samples)
          warm = samples.drop_while { |at, _usage| at < samples.first[0] + @warm_up_s }
          {hours: (warm.last[0] - warm.first[0]) / 3_600.0,
           an_hour: LIMITS.keys.to_h { |what| [what, (slope(warm.map { |at, usage| [at, usage[what]] }) * 3_600).round] },
           first: warm.first[1], last: samples.last[1], more_threads: more(warm.first[1], warm.last[1])}
        end

        # Descriptors and threads have grown by no more than the difference between the ends: a few steps in the middle of a life
        # have a steeper slope.
        def grown(one, what, slope)
          estimated = slope * one[:hours]
          (what == :rss) ? estimated : [estimated, one[:last][what] - one[:first][what]].min
        end

        # @return [Hash{String => Integer}] by a thread's name: how many more (or fewer) there are at the end
        def more(first, last)
          before, after = [first, last].map { |usage| usage.fetch(:names, {}) }
          (before.keys | after.keys).to_h { |name|
            [name, after.fetch(name, 0) - before.fetch(name, 0)]
          }.reject { |_name, by| by.zero? }
        end

        def named(threads) = threads.empty? ? "" : " (#{threads.map { |name, by| format("%s %+d", name, by) }.join(", ")})"

        # Least squares.
        def slope(points)
          mean_x = points.sum(&:first) / points.size
          mean_y = points.sum(&:last).to_f / points.size
          points.sum { |x, y| (x - mean_x) * (y - mean_y) } / points.sum { |x, _y| (x - mean_x)**2 }
        end
      end
    end
  end
end
