# frozen_string_literal: true

require_relative "label_values"

module Penstock
  module Instrumentation
    module Metrics
      # The series of one counter or histogram. Any thread; an update takes one lock for less than a microsecond.
      #
      # A series is an Array of numbers: `[total]` of a counter; `[sum, count of the first bucket, …]` of a histogram, with one
      # bucket more than it has limits, and no bucket counted in another.
      class Family
        # @return [Metric]
        attr_reader :metric

        # @param metric [Metric] a counter or a histogram
        def initialize(metric)
          @metric = metric
          @buckets = metric.buckets
          reset
        end

        # Forgets all series. Called in the child of a fork, where another thread may have had the lock.
        def reset
          @lock = Mutex.new
          @limits = LabelValues.new(@metric.labels)
          @series = {}
          place([]) if @metric.labels.empty?
        end

        # Adds to a counter, or observes a value in a histogram.
        # @param labels [Array<String>] the values of the labels, in the order of {Metric#labels}
        # @param value [Numeric] a negative or infinite one is ignored: a counter never decreases
        # @return [void]
        def update(labels, value)
          return unless value >= 0 && value.finite?
          @lock.synchronize do
            series = @series[labels] || place(labels)
            series[0] += value
            series[bucket(value)] += 1 if @buckets
          end
        end

        # Adds a whole series.
        # @param labels [Array<String>]
        # @param numbers [Array<Numeric>] as in {#rows}
        # @return [void]
        def add(labels, numbers)
          @lock.synchronize do
            series = @series[labels] || place(labels)
            numbers.each_with_index { |number, index| series[index] += number }
          end
        end

        # @return [Array<Array(Array<String>, Array<Numeric>)>] labels and numbers of each series, as they are now
        def rows = @lock.synchronize { @series.map { |labels, numbers| [labels, numbers.dup] } }

        private

        def bucket(value)
          index = 0
          index += 1 while index < @buckets.size && value > @buckets[index]
          index + 1
        end

        # Values that were not kept are looked up here each time: what is remembered stays bounded.
        def place(labels)
          labels = @limits.limited(labels)
          @series[labels] ||= Array.new(@buckets ? @buckets.size + 2 : 1, 0)
        end
      end
    end
  end
end
