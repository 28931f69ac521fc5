# frozen_string_literal: true

require_relative "statistics"

module Bench
  # One line of the table: what was measured, the target, and whether it holds.
  # `verdict` is :holds, :misses, :seen (no target, shown for comparison) or :absent (a side did not run).
  Figure = Struct.new(:workload, :name, :unit, :values, :bound, :limit, keyword_init: true) do
    # @param bound [:least, :most, nil] which side of `limit` is good; nil for a figure without a target
    def verdict
      return :absent if value.nil?
      return :seen unless bound

      if (bound == :least) ? value >= limit : value <= limit
        :holds
      else
        :misses
      end
    end

    def value
      Statistics.median(values)
    end

    def spread
      Statistics.spread(values.compact)
    end

    def target
      return "" unless bound

      "#{(bound == :least) ? "≥" : "≤"} #{Statistics.humane(limit)}#{suffix}"
    end

    def shown
      return "–" if value.nil?
      return "#{Statistics.humane(value)}#{suffix}" if values.compact.size < 2

      "#{Statistics.humane(value)}#{suffix} (#{spread.map { |edge| Statistics.humane(edge) }.join("–")})"
    end

    def to_json_hash
      {name: name, unit: unit, value: value, low: spread&.first, high: spread&.last, target: target, verdict: verdict}
    end

    private

    def suffix
      (unit.nil? || unit == "×") ? unit.to_s : " #{unit}"
    end
  end
end
