# frozen_string_literal: true

module Penstock
  module Processing
    module Division
      # Finds the key with the lowest buffered offset, for as long as records run one by one in the partition's order. Sorts the
      # keys when it is first asked, and again when records come back.
      class KeySequence
        # @param runs [Hash{Object => KeyRun}]
        def initialize(runs)
          @runs = runs
        end

        # @return [KeyRun, nil]
        def first = sorted.first

        # @param offset [Integer]
        # @return [Boolean] whether a record below it is buffered
        def below?(offset) = !first.nil? && first.messages.first.offset < offset

        # A key got its first record, which follows everything buffered.
        # @param run [KeyRun]
        def added(run) = @sorted&.push(run)

        # The first records of a key are no longer buffered.
        # @param run [KeyRun]
        def taken(run)
          return unless @sorted
          return changed unless run.equal?(@sorted.first)
          @sorted.shift
          return if run.messages.empty?
          @sorted.insert(@sorted.bsearch_index { |other| place(other) > place(run) } || @sorted.size, run)
        end

        # Anything else has changed.
        def changed = @sorted = nil

        private

        def sorted = @sorted ||= @runs.values.reject { |run| run.messages.empty? }.sort_by { |run| place(run) }

        def place(run) = run.messages.first.offset
      end
    end
  end
end
