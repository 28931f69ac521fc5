# frozen_string_literal: true

require_relative "part"
require_relative "ranges"

module Penstock
  module Reading
    # Finds where the last records of partitions begin. Kafka can't count records: compaction removes some, and the markers of
    # transactions have offsets too. So offsets are read backwards from the end, in windows that grow, until enough records were
    # found: at most {GROWTH} times as many offsets as lie between the result and the end, and only these offsets are kept.
    # Used once, on the thread of its connection.
    class LastRecords
      # How much larger each window is than the one after it.
      GROWTH = 4
      # A first window of fewer offsets costs as much as this one.
      SMALLEST = 500
      private_constant :GROWTH, :SMALLEST

      # A partition: its first offset, the end of the next window, its length, how many records are still to be found, and the
      # result.
      Search = Struct.new(:key, :low, :upper, :size, :missing, :found) do
        def lower = [upper - size, low].max

        # @param offsets [Array<Integer>] the last of the records in the window
        def receive(offsets)
          return self.found = offsets.first if offsets.size == missing
          return self.found = low if lower == low

          self.missing -= offsets.size
          self.upper = lower
          self.size *= GROWTH
        end
      end
      private_constant :Search

      # @param connection [Connection]
      def initialize(connection)
        @connection = connection
      end

      # @param wanted [Hash{(String, Integer) => Array(Integer, Integer, Integer)}] by partition: its first offset, its end, and
      #   how many records
      # @return [Hash{(String, Integer) => Integer}] the offset at which that many records, or all that there are, begin
      def find(wanted)
        searches = wanted.map { |key, (low, to, count)| search(key, low, to, count) }
        while (open = searches.reject(&:found)).any?
          read(open)
        end
        searches.to_h { |one| [one.key, one.found] }
      end

      private

      # Where there are no more offsets than records are wanted, nothing has to be read.
      def search(key, low, to, count)
        found = low if to - low <= count
        Search.new(key, low, to, [count, SMALLEST].max, count, found)
      end

      def read(searches)
        offsets = searches.to_h { |one| [one.key, []] }
        missing = searches.to_h { |one| [one.key, one.missing] }
        parts = searches.map { |one| Part.new(*one.key, one.lower, one.upper) }
        Ranges.new(@connection, parts).each do |part, batch, first, count|
          kept = offsets.fetch(part.key).concat(batch.offsets.slice(first, count))
          kept.shift([kept.size - missing.fetch(part.key), 0].max)
        end
        searches.each { |one| one.receive(offsets.fetch(one.key)) }
      end
    end
  end
end
