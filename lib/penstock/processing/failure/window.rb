# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Computes the share of failures among a topic's fresh records, in the order in which the records began to run. Only
      # failures are kept: a record that began between two of them and isn't kept has not failed.
      #
      # Records are ordered by when they began because they end in another order: where bad records fail at once and good ones
      # take a second, nearly all of the first twenty records that end after a pause have failed, even where the share of bad
      # records is small.
      #
      # Records that follow each other (of one key; of one partition, where it is processed in order) are one *sequence*. A
      # failing sequence is slow, so its records remain when all others are done. Therefore the failures that a sequence may
      # contribute are limited until one of its records succeeds: to one each where there are as many sequences as failures are
      # needed. The limit applies to each kind of error (each name) alone: an outage may begin with other errors than it
      # continues with, and a bad record may be the first to fail.
      #
      # Pure. Workers count records ({#take_numbers}) without a lock: two records that get the same number do no harm. Everything
      # else, including the sequences ({#add_sequence}), must be called by one thread at a time: inserting into a Hash calls
      # `hash` of its keys, Ruby may switch threads there, and a second insert frees memory that the first one reads.
      class Window
        # An hour: failures further apart aren't related, nor is a sequence, or its kind of error, that was seen before that.
        MEMORY_MS = 3_600_000
        # Failures kept, in multiples of the window: for records that began long ago, next to many that began since.
        KEPT = 8
        # Failing sequences kept.
        MOST_FAILING = 10_000

        Failed = Struct.new(:number, :record, :names, :at)
        # Failures of a sequence since one of its records succeeded: `kinds` by name, and the time of the last failure.
        Failing = Struct.new(:kinds, :at)
        # Number of failures of a sequence that have a name, and the time of the last.
        Kind = Struct.new(:count, :at)
        # Numbers without a record: they were assigned with a unit, and their records did not run.
        Unused = Struct.new(:number, :count)
        private_constant :KEPT, :MOST_FAILING, :Failed, :Failing, :Kind, :Unused

        # @param size [Integer] number of consecutive records that are looked at together
        # @param share [Numeric] share of them that must have failed, 0 to 1
        def initialize(size, share)
          @size = size
          @needed = (size * share).ceil
          @next_number = 0
          @sequences = @earlier = {}
          clear
        end

        # @return [Integer] failures that reach the share
        attr_reader :needed

        # Fresh records begin.
        # @param count [Integer]
        # @param unit [#sequence] their unit
        # @return [Integer] number of the first
        def number_records(count, unit)
          number = take_numbers(count)
          add_sequence(unit.sequence || number) if sequences_missing?
          number
        end

        # Numbers fresh records that begin. Called by any thread.
        # @param count [Integer]
        # @return [Integer] number of the first
        def take_numbers(count)
          number = @next_number
          @next_number = number + count
          number
        end

        # @return [Boolean] whether {#add_sequence} has to be called for more sequences. Called by any thread
        def sequences_missing? = @sequences.size < @needed

        # A record of the sequence began.
        # @param sequence [Object]
        def add_sequence(sequence) = @sequences[sequence] = true

        # Records were numbered and did not run; if they run later they get other numbers.
        # @param number [Integer] of the first
        # @param count [Integer]
        def unused(number, count)
          insert(@unused, Unused.new(number, count)) if count.positive? && @failed.any?
        end

        # @param number [Integer] of the record, assigned when it began
        # @param record [Object] equal for the same record, which counts once
        # @param sequence [Object, nil] equal for records that follow each other; nil: it belongs to none
        # @param names [Array<String>] names it may have in common with others, in order of preference
        # @param now [Integer] monotonic ms
        # @return [String, nil] the name that enough neighbours have in common, this record among them
        def failed(number, record, sequence, names, now)
          forget(now)
          return if @failed.any? { |other| other.record == record }
          names = count(sequence, names, now) if sequence
          return if names.empty?
          one = Failed.new(number, record, names, now)
          near = near(one, insert(@failed, one))
          names.find { |name| enough_alike?(near.select { |other| other.names.include?(name) }, one) } if near.size >= @needed
        end

        # @return [Boolean] whether a sequence has failed and not succeeded since. Any thread
        def failing? = !@failing.empty?

        # A record of the sequence succeeded.
        # @param sequence [Object, nil]
        def sequence_succeeded(sequence) = @failing.delete(sequence)

        def clear
          @failed = []
          @unused = []
          @failing = {}
        end

        private

        def forget(now)
          @failed.reject! { |one| now - one.at > MEMORY_MS }
          @failed.shift while @failed.size >= @size * KEPT
          @unused.reject! { |one| @failed.empty? || one.number < @failed.first.number }
          @failing.shift while @failing.size > MOST_FAILING || (@failing.any? && now - @failing.first.last.at > MEMORY_MS)
          return if @renew_at && now < @renew_at
          @renew_at = now + MEMORY_MS
          @sequences, @earlier = {}, @sequences
        end

        # Counts a failure of a sequence for each of its names.
        # @return [Array<String>] the names for which the failure still counts
        def count(sequence, names, now)
          kinds = @failing.delete(sequence)&.kinds || {}
          @failing[sequence] = Failing.new(kinds, now) # the latest is the last
          kinds.delete_if { |_name, kind| now - kind.at > MEMORY_MS }
          limit = limit_per_sequence
          names.select do |name|
            kind = kinds[name] ||= Kind.new(0, now)
            kind.at = now
            (kind.count += 1) <= limit
          end
        end

        # Inserts in the order of numbers.
        # @return [Integer] index in the list
        def insert(list, one)
          index = list.bsearch_index { |other| other.number > one.number } || list.size
          list.insert(index, one)
          index
        end

        # @return [Array<Failed>] all that may share a window with it
        def near(failed, index)
          before = index.downto(0).take_while { |at| span(@failed[at], failed) <= @size }
          after = (index + 1...@failed.size).take_while { |at| span(failed, @failed[at]) <= @size }
          @failed[before.last..(after.last || index)]
        end

        # Whether enough of them began close to each other, this one among them.
        # @param alike [Array<Failed>]
        def enough_alike?(alike, failed)
          alike.size >= @needed && alike.each_index.any? do |from|
            alike[from].number <= failed.number && reached?(alike.drop(from))
          end
        end

        # @param alike [Array<Failed>] from the first of a window on
        def reached?(alike) = alike.take_while { |one| span(alike.first, one) <= @size }.size >= @needed

        # @return [Integer] failures of one kind in a row of one sequence that count
        def limit_per_sequence
          known = [@sequences.size, @earlier.size].max.clamp(1, @needed)
          (@needed + known - 1) / known
        end

        # @return [Integer] records that began from the first to the last, both included
        def span(first, last)
          at = @unused.bsearch_index { |one| one.number >= first.number } || @unused.size
          between = 0
          while (one = @unused[at]) && one.number < last.number
            between += one.count
            at += 1
          end
          last.number - first.number + 1 - between
        end
      end
    end
  end
end
