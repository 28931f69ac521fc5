# frozen_string_literal: true

module Bench
  # Medians with their spread; plain functions over arrays of numbers.
  module Statistics
    module_function

    def median(values)
      sorted = values.compact.sort
      return if sorted.empty?

      middle = sorted.size / 2
      sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
    end

    # @return [Array(Float, Float), nil] lowest and highest
    def spread(values)
      values.compact.minmax if values.any?
    end

    # Of two sides measured in turn (A B A B): the ratio of each pair, nil where one of the two failed.
    def ratios(ours, theirs)
      ours.zip(theirs).filter_map { |mine, other| mine.to_f / other if mine && other&.positive? }
    end

    # The same for what one side adds to the other.
    def differences(ours, theirs)
      ours.zip(theirs).filter_map { |mine, other| mine - other if mine && other }
    end

    # For people: 1.23M, 45.6k, 0.187.
    def humane(value)
      return "–" unless value
      return format("%.2fM", value / 1e6) if value.abs >= 1e6
      return format("%.1fk", value / 1e3) if value.abs >= 1e4
      return format("%.0f", value) if value.abs >= 100
      return value.to_s if value.is_a?(Integer)

      format((value.abs >= 10) ? "%.1f" : "%.3g", value)
    end
  end
end
