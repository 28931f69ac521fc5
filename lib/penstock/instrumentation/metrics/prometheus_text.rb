# frozen_string_literal: true

require_relative "catalogue"

module Penstock
  module Instrumentation
    module Metrics
      # Prometheus' text format, version 0.0.4. Stateless.
      module PrometheusText
        ESCAPES = {"\\" => "\\\\", "\n" => "\\n", "\"" => "\\\""}.freeze
        private_constant :ESCAPES

        # Snapshots of one or several processes as one text: a metric's series stand together, as the format requires.
        class << self
          # @param snapshots [Array<Array(Hash{Symbol => String}, Hash{String => Array})>] labels that are added to each series
          #   of a process, and its {Registry#snapshot}
          # @param metrics [Array<Metric>]
          # @return [String]
          def of(snapshots, metrics = Catalogue::ALL)
            metrics.each_with_object(+"") do |metric, text|
              found = snapshots.filter_map { |more, rows| [more, rows[metric.name]] if rows.key?(metric.name) }
              write(text, metric, found) if found.any?
            end
          end

          private

          def write(text, metric, found)
            text << "# HELP #{metric.name} #{metric.help.gsub(/[\\\n]/, ESCAPES)}\n# TYPE #{metric.name} #{metric.kind}\n"
            found.each do |more, rows|
              before = more.map { |name, value| pair(name, value) }
              rows.each { |values, numbers| series(text, metric, [*before, *pairs(metric.labels, values)], numbers) }
            end
          end

          def series(text, metric, pairs, numbers)
            return histogram(text, metric, pairs, numbers) if metric.histogram?
            text << "#{metric.name}#{braces(pairs)} #{number(numbers.first)}\n"
          end

          def histogram(text, metric, pairs, numbers)
            sum, *counts = numbers
            total = 0
            [*metric.buckets, Float::INFINITY].zip(counts) do |limit, count|
              total += count
              text << "#{metric.name}_bucket#{braces([*pairs, pair(:le, number(limit))])} #{total}\n"
            end
            text << "#{metric.name}_sum#{braces(pairs)} #{number(sum)}\n#{metric.name}_count#{braces(pairs)} #{total}\n"
          end

          def pairs(names, values) = names.zip(values).map { |name, value| pair(name, value) }

          def pair(name, value) = "#{name}=\"#{value.gsub(/[\\\n"]/, ESCAPES)}\""

          def braces(pairs) = pairs.empty? ? "" : "{#{pairs.join(",")}}"

          def number(value)
            return value.to_s if value.is_a?(Integer)
            return "NaN" if value.nan?
            return value.positive? ? "+Inf" : "-Inf" if value.infinite?
            (value == value.to_i && value.abs < 1e15) ? value.to_i.to_s : value.to_s
          end
        end
      end
    end
  end
end
