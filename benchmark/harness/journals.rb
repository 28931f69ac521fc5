# frozen_string_literal: true

module Bench
  # Evaluates how a group consumed while brokers failed, from the journals of its members and of the producer: gaps,
  # waits, records that were lost or consumed twice.
  #
  # A gap is the time between the first consumption of two consecutive records of a partition. It belongs to the
  # partitions that were kept if the same process consumed both records, otherwise to those that moved. The producer has
  # gaps as well (a partition without a leader accepts no record), so the wait is reported too: the part of a gap for
  # which the record that ended it had already been acknowledged.
  class Journals
    Record = Struct.new(:partition, :offset, :at_ns, :pid)
    # A gap of a partition; `from_ns` on the monotonic clock. `waited`: the seconds of it for which the record that
    # ended it had been acknowledged.
    Gap = Struct.new(:partition, :from_ns, :seconds, :waited, :moved)

    # @param text [String] lines "partition offset monotonic-ns [pid]"; others ("failed") and an unfinished one are left out
    # @return [Array<Record>]
    def self.parse(text)
      text.each_line.filter_map do |line|
        Record.new(*line.split.map(&:to_i)) if line.end_with?("\n") && line.match?(/\A\d/)
      end
    end

    # @param consumed [Array<Record>] of all members
    # @param acknowledged [Array<Record>] by the producer
    # @param since_ns [Integer] gaps that began before it don't count, nor do repetitions
    def initialize(consumed, acknowledged, since_ns:)
      @runs = consumed.group_by { |record| place(record) }
      @acknowledged = acknowledged
      @acknowledged_at = acknowledged.to_h { |record| [place(record), record.at_ns] }
      @since_ns = since_ns
    end

    # @return [Array<Gap>]
    def gaps
      @gaps ||= between(firsts)
    end

    # @param moved [Boolean, nil] nil: both kinds
    # @return [Float] seconds; 0.0 without one
    def longest_gap(moved: nil) = select(moved).map(&:seconds).max || 0.0

    # @param moved [Boolean, nil] as above
    # @return [Float] seconds: the longest part of a gap in which there was something to consume
    def longest_wait(moved: nil) = select(moved).map(&:waited).max || 0.0

    # The longest time without a record of any partition.
    # @return [Float] seconds
    def longest_silence
      times = firsts.map(&:at_ns).select { |at| at >= @since_ns }.sort
      times.each_cons(2).map { |one, two| seconds(two - one) }.max || 0.0
    end

    # Between acknowledgements of a partition: a gap that no consumer caused.
    # @return [Float] seconds
    def longest_fed_gap = between(@acknowledged).map(&:seconds).max || 0.0

    # How much later than by the first of all groups a record was consumed: this excludes effects of brokers and machine
    # that hit all groups at the same time.
    # @param earliest [Hash{Array => Integer}] {#earliest} of all groups together
    # @return [Float] seconds
    def longest_behind(earliest)
      late = firsts.select { |record| record.at_ns >= @since_ns }.map { |one| one.at_ns - earliest.fetch(place(one)) }
      seconds(late.max || 0)
    end

    # @return [Hash{Array => Integer}] partition and offset to the time of the first consumption
    def earliest = firsts.to_h { |record| [place(record), record.at_ns] }

    # @param total [Integer] records in the log
    def lost(total) = total - @runs.size

    # Records that were consumed again since the measurement began.
    def doubled
      @runs.each_value.count { |runs| runs.size > 1 && runs.map(&:at_ns).max >= @since_ns }
    end

    private

    def place(record) = [record.partition, record.offset]

    def firsts
      @firsts ||= @runs.each_value.map { |runs| runs.min_by(&:at_ns) }
    end

    def between(records)
      records.group_by(&:partition).each_value.flat_map do |own|
        own.sort_by(&:at_ns).each_cons(2).filter_map { |one, two| gap(one, two) if one.at_ns >= @since_ns }
      end
    end

    def gap(one, two)
      length = two.at_ns - one.at_ns
      waited = (two.at_ns - @acknowledged_at.fetch(place(two), two.at_ns)).clamp(0, length)
      Gap.new(one.partition, one.at_ns, seconds(length), seconds(waited), one.pid != two.pid)
    end

    def select(moved) = moved.nil? ? gaps : gaps.select { |gap| gap.moved == moved }

    def seconds(nanoseconds) = nanoseconds / 1e9
  end
end
