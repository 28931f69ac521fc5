# frozen_string_literal: true

require_relative "label_values"

module Penstock
  module Instrumentation
    module Metrics
      # Updates the metrics of an event that have the same labels: their series are looked up once for all of them, then each
      # records its value. Runs on any thread, and for each call of `consume`: it takes the registry's lock once, and allocates
      # nothing.
      class Updates
        # Combinations of labels whose series are remembered; those of further ones are looked up each time.
        REMEMBERED = LabelValues::MOST_SERIES
        # Classes of values that are remembered: such a value is small, and as the key of a Hash it doesn't change.
        PLAIN = [String, Symbol, Integer, NilClass].freeze
        private_constant :REMEMBERED, :PLAIN

        # @param registry [Registry, Monitors::MetricsExporter] owns the metrics: has `lock` and `[]`
        # @param metrics [Array<Metric>] with the same labels
        # @param lookups [Array<Symbol, #call>] for each label: the key of its value in the payload, or what returns the value
        #   for a payload
        # @param texts [Array<#call>] for each label: turns its value into text
        def initialize(registry, metrics, lookups, texts)
          @registry = registry
          @families = metrics.map { |metric| registry[metric.name] }
          @lookups = lookups
          @readers = metrics.map(&:reader)
          @label_keys, @keys = [@lookups, @readers].map { |list| list.map { |one| one if one.is_a?(Symbol) } }
          @texts = texts
          forget(registry.lock)
        end

        # @param payload [Hash{Symbol => Object}] of the event
        # @return [void]
        def call(payload)
          lock = @registry.lock
          forget(lock) unless lock.equal?(@lock)
          series = find(payload) || place(payload)
          lock.synchronize { record(series, payload) }
        end

        private

        # A registry that was reset has a new lock, and other series.
        def forget(lock)
          @count = 0
          @known = @lookups.empty? ? @families.map { |family| family.series([]) } : {}
          @lock = lock
        end

        # A Hash per label, each in the one before. One Hash of all series would need an Array as its key, and building and
        # hashing that takes longer than everything else here.
        def find(payload)
          found, index, size = @known, 0, @lookups.size
          while index < size
            found = found[(key = @label_keys[index]) ? payload[key] : @lookups[index].call(payload)] or return
            index += 1
          end
          found
        end

        # A series exists from its first value on, so one without a value now has none here.
        def place(payload)
          values = @lookups.map { |lookup| read(lookup, payload) }
          labels = @texts.zip(values).map { |text, value| text.call(value) }
          found = @families.zip(@readers).map { |family, reader| family.series(labels) if read(reader, payload) }
          remember(values, found) if found.all? && @count < REMEMBERED && values.all? { |value| PLAIN.include?(value.class) }
          found
        end

        def read(reader, payload) = reader.is_a?(Symbol) ? payload[reader] : reader.call(payload)

        # Another thread may place the same at the same time: it finds the same series.
        def remember(values, series)
          @count += 1
          *before, last = values
          before.reduce(@known) { |known, value| known[value] ||= {} }[last] = series
        end

        def record(series, payload)
          index, size = 0, series.size
          while index < size
            amount = (key = @keys[index]) ? payload[key] : @readers[index].call(payload)
            series[index].record(amount) if amount
            index += 1
          end
        end
      end
    end
  end
end
