# frozen_string_literal: true

require_relative "label_values"
require_relative "series"

module Penstock
  module Instrumentation
    module Metrics
      # The series of one counter or histogram. Any thread.
      class Family
        # @return [Metric]
        attr_reader :metric

        # @param metric [Metric] a counter or a histogram
        # @param lock [Mutex] the registry's
        def initialize(metric, lock)
          @metric = metric
          @limits = limits
          reset(lock)
        end

        # Forgets all series. Called in the child of a fork, where another thread may have had the lock.
        # @param lock [Mutex] a new one
        # @return [void]
        def reset(lock)
          @lock = lock
          @values = LabelValues.new(@metric.labels)
          @series = {}
          place([]) if @metric.labels.empty?
        end

        # Adds to a counter, or observes a value in a histogram.
        # @param labels [Array<String>] the values of the labels, in the order of {Metric#labels}
        # @param value [Numeric] see {Series#record}
        # @return [void]
        def update(labels, value)
          @lock.synchronize { place(labels).record(value) }
        end

        # Adds a whole series.
        # @param labels [Array<String>]
        # @param numbers [Array<Numeric>] as in {#rows}
        # @return [void]
        def add(labels, numbers)
          @lock.synchronize { place(labels).add(numbers) }
        end

        # @param labels [Array<String>]
        # @return [Series] valid until the family is reset; to be used with the registry's lock
        def series(labels) = @lock.synchronize { place(labels) }

        # @return [Array<Array(Array<String>, Array<Numeric>)>] labels and numbers of each series, as they are now
        def rows = @lock.synchronize { @series.map { |labels, series| [labels, series.numbers.dup] } }

        private

        # Ruby compares two Floats faster than a Float and an Integer.
        def limits
          limits = @metric.buckets or return
          limits = limits.map(&:to_f) if @metric.unit == :seconds
          [*limits, Float::INFINITY].freeze
        end

        # Values that were not kept are looked up here each time: what is remembered stays bounded.
        def place(labels)
          @series[labels] || begin
            labels = @values.limited(labels)
            @series[labels] ||= Series.new(@limits)
          end
        end
      end
    end
  end
end
