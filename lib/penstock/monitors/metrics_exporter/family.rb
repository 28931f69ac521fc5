# frozen_string_literal: true

require_relative "../../instrumentation/metrics/label_values"

module Penstock
  module Monitors
    class MetricsExporter
      # Passes the values of a counter or a histogram to a monitoring system, with labels in that system's form. These are built
      # once for each of the limited number of series. Any thread; recording a value takes no lock.
      class Family
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
        # @return [Series] valid until the family is reset
        def series(values)
          @lock.synchronize do
            limited = @limits.limited(values)
            @known[limited] ||= Series.new(@send, @labels.call(@names, limited))
          end
        end

        # Receives the values of one series.
        class Series
          def initialize(send, labels)
            @send = send
            @labels = labels
          end

          # @param value [Numeric] a negative or infinite one is ignored: a counter never decreases
          # @return [void]
          def record(value)
            @send.call(@labels, value) if value >= 0 && value.finite?
          end
        end
        private_constant :Series
      end
    end
  end
end
