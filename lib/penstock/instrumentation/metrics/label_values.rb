# frozen_string_literal: true

require_relative "../../printable"

module Penstock
  module Instrumentation
    module Metrics
      # Limits the values of a metric's labels: the first {MOST} values of a label are kept, each further one becomes {OTHER};
      # after {MOST_SERIES} combinations every label of a new one does. A value that was kept stays, so that no counter is ever
      # moved to another series.
      #
      # Not thread-safe: its owner has a lock.
      class LabelValues
        # Values of one label.
        MOST = 100
        # Combinations of the values of all labels.
        MOST_SERIES = 1_000
        # The value of a label instead of a further one.
        OTHER = "other"
        # Labels whose values are limited by {MOST_SERIES} alone.
        UNLIMITED = %i[partition node].freeze
        private_constant :UNLIMITED

        # @param labels [Array<Symbol>] their names
        def initialize(labels)
          @kept = labels.map { |label| UNLIMITED.include?(label) ? nil : {} }
          @rest = Array.new(labels.size, OTHER).freeze
          @known = {}
        end

        # @param values [Array<String>] of each label
        # @return [Array<String>] frozen: the same values, fit for labels, or {OTHER} instead of some or all of them
        def limited(values)
          found = Array.new(values.size) { |index| keep(@kept[index], values[index]) }.freeze
          return found if @known.key?(found)
          return @rest if @known.size >= MOST_SERIES && !@rest.empty?
          @known[found] = true
          found
        end

        private

        # @param kept [Hash{String => String}, nil] by value: the same, fit for a label
        def keep(kept, value)
          return text(value) unless kept
          kept[value] || ((kept.size < MOST) ? kept[value] = text(value) : OTHER)
        end

        # @return [String] one line of UTF-8, bounded in length
        def text(value) = Printable.line(value, Printable::NAME_BYTES).dup.freeze
      end
    end
  end
end
