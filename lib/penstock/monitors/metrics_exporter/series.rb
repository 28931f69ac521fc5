# frozen_string_literal: true

require_relative "../../instrumentation/metrics/label_values"

module Penstock
  module Monitors
    class MetricsExporter
      # Passes the values of a counter or a histogram to a monitoring system, with labels in that system's form. These are built
      # once for each of the limited number of series. Any thread; an update of a known series takes no lock.
      class Series
        # @param metric [Instrumentation::Metrics::Metric] a counter or a histogram
        # @param labels [#call] gets the names and the values of the labels, returns what `send` gets
        # @param send [#call] gets the labels and a value
        def initialize(metric, labels, send)
          @names = metric.labels
          @labels = labels
          @send = send
          reset
        end

        # Forgets the labels. Called in the child of a fork, where another thread may have had the lock.
        # @return [void]
        def reset
          @limits = Instrumentation::Metrics::LabelValues.new(@names)
          @lock = Mutex.new
          @known = {}
        end

        # @param values [Array<String>] the values of the labels, in the order of the metric's
        # @param value [Numeric] a negative or infinite one is ignored: a counter never decreases
        # @return [void]
        def update(values, value)
          return unless value >= 0 && value.finite?
          @send.call(@known[values] || place(values), value)
        end

        private

        # Values that were not kept are looked up here each time: what is remembered stays bounded.
        def place(values)
          @lock.synchronize do
            limited = @limits.limited(values)
            @known[limited] ||= @labels.call(@names, limited)
          end
        end
      end
    end
  end
end
