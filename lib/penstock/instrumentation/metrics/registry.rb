# frozen_string_literal: true

require_relative "catalogue"
require_relative "family"
require_relative "gauge"

module Penstock
  module Instrumentation
    module Metrics
      # The metrics of one process. Any thread.
      class Registry
        # @param metrics [Array<Metric>]
        # @param now [#call] seconds since 1970
        # @yieldparam registry [Registry] called at each {#snapshot}, to set the gauges that no event updates
        def initialize(metrics = Catalogue::ALL, now: -> { Time.now.to_f }, &collect)
          @lock = Mutex.new
          @families = metrics.to_h do |metric|
            [metric.name, metric.gauge? ? Gauge.new(metric) : Family.new(metric, @lock)]
          end.freeze
          @now = now
          @collect = collect
          @started_at = now.call
        end

        # Held for the time of one event's updates, and while one metric is read; replaced by {#reset}.
        # @return [Mutex] of all counters and histograms
        # @api private
        attr_reader :lock

        # @param name [String] of a metric
        # @return [Family, Gauge]
        # @raise [KeyError]
        def [](name) = @families.fetch(name)

        # Called in the child of a fork: what the parent has counted isn't counted again, and another of its threads may have had
        # the lock.
        # @return [void]
        def reset
          lock = Mutex.new
          @families.each_value { |family| family.metric.gauge? ? family.reset : family.reset(lock) }
          @lock = lock
          @started_at = @now.call
        end

        # @return [Hash{String => Array}] by name of a metric: labels and numbers of each series ({Family#rows})
        def snapshot
          self["process_start_time_seconds"].update([], @started_at) if @families.key?("process_start_time_seconds")
          @collect&.call(self)
          @families.transform_values(&:rows).reject { |_name, rows| rows.empty? }
        end

        # @return [String] a short one
        def inspect = "#<#{self.class} #{@families.size} metrics>"
      end
    end
  end
end
