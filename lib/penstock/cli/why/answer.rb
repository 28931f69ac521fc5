# frozen_string_literal: true

require_relative "../../printable"

module Penstock
  module CLI
    module Why
      # What is known about one record of one group, from what was committed and where the partition begins and ends. Pure: facts
      # in, words out. A frozen value.
      class Answer
        # `low` and `high` of the partition, `committed` offset or nil, `decoded` what the commit's metadata says
        # ({Native::Envelope::Decoded}), `exists` whether the log has a record at the offset (nil: not looked), `owner` who
        # has the partition (nil: nobody, or unknown).
        Facts = Struct.new(:group, :topic, :partition, :offset, :low, :high, :committed, :decoded, :exists, :owner, :recorded,
          keyword_init: true)

        IGNORED = {
          foreign: "isn't Penstock's: what is complete beyond the offset isn't known",
          newer: "was written by a newer Penstock than this one: what is complete beyond the offset isn't known",
          damaged: "is damaged and counts for nothing: what is beyond the offset runs again",
          other_offset: "belongs to another offset (a mirrored group?) and counts for nothing",
          other_topic: "belongs to another topic and counts for nothing"
        }.freeze
        private_constant :IGNORED

        # @return [Facts]
        attr_reader :facts

        # @param facts [Facts]
        def initialize(facts)
          @facts = facts
          freeze
        end

        # @return [Symbol] :complete, :complete_by_map, :incomplete, :untouched, :gone, :not_there, :nothing_committed, :gap
        def state
          return :not_there if @facts.offset >= @facts.high
          return :gap if @facts.exists == false && @facts.offset >= @facts.low
          return below_low if @facts.offset < @facts.low
          return :nothing_committed unless @facts.committed
          return :complete if @facts.offset < @facts.committed
          return :complete_by_map if mapped?
          (attempts.positive? || crashes.positive? || @facts.offset < seen) ? :incomplete : :untouched
        end

        # @return [Array<String>] what is known, the answer first
        def lines = [verdict, *counts, *ignored, standing, owner, *@facts.recorded].map { |line| Printable.line(line) }

        # @return [Hash] the same as plain values
        def to_h
          {group: @facts.group, topic: @facts.topic, partition: @facts.partition, offset: @facts.offset, state: state,
           low: @facts.low, high: @facts.high, committed: @facts.committed, lag: lag, attempts: attempts, crashes: crashes,
           clean: @facts.decoded&.clean, metadata_ignored: @facts.decoded&.ignored, owner: @facts.owner,
           recorded: @facts.recorded}
        end

        # @return [Integer, nil] records the group has before it; nil without a commit
        def lag = @facts.committed && [@facts.high - @facts.committed, 0].max

        private

        def below_low = (@facts.committed && @facts.offset < @facts.committed) ? :complete : :gone

        def mapped? = runs.any? { |from, to| @facts.offset >= from && @facts.offset < to }
        def runs = @facts.decoded&.completed || []
        def attempts = @facts.decoded&.attempts.to_h.fetch(@facts.offset, 0)
        def crashes = @facts.decoded&.crashes.to_h.fetch(@facts.offset, 0)

        # Up to there something was taken: behind it a record is complete, or one was tried.
        def seen = [*runs.map(&:last), *@facts.decoded&.attempts.to_h.keys, *@facts.decoded&.crashes.to_h.keys].max || -1

        def verdict
          record = "#{@facts.topic}/#{@facts.partition} offset #{@facts.offset}"
          case state
          when :complete then "#{record} is complete: the group has committed #{@facts.committed}; what is below is done with."
          when :complete_by_map then "#{record} is complete: the commit of #{@facts.committed} lists it as done with beyond it."
          when :incomplete then "#{record} is not complete, though records behind it are: it is running, being retried, or waits."
          when :untouched then untouched(record)
          when :gone then "#{record} is gone from the log, which begins at #{@facts.low}, before the group committed it."
          when :not_there then "#{record} doesn't exist yet: the partition ends at #{@facts.high}."
          when :gap then "#{record} is no record: compaction has removed it, or it is a marker of a transaction. " \
            "It counts as complete as soon as the group passes it."
          else "#{record}: the group #{@facts.group} has committed nothing for this partition."
          end
        end

        def untouched(record)
          first = (@facts.offset == @facts.committed)
          "#{record} is not complete: the group has committed #{@facts.committed}" \
            "#{first ? ", which is this record, the next one" : ", #{@facts.offset - @facts.committed} before it"}. " \
            "Whether it has been started isn't written in a commit."
        end

        def counts
          found = []
          found << "It has failed #{times(attempts)}; a commit remembers that for the next owner." if attempts.positive?
          found << "It was running alone #{times(crashes)} when its process died." if crashes.positive?
          found
        end

        def times(count) = (count == 1) ? "once" : "#{count} times"

        def ignored
          found = @facts.decoded&.ignored
          found ? ["Beware: the commit's metadata #{IGNORED.fetch(found, found.to_s)}."] : []
        end

        def standing
          return "The log has offsets #{@facts.low} to #{@facts.high - 1}; nothing is committed." unless @facts.committed
          "The log goes from #{@facts.low} to #{@facts.high}; the group stands at #{@facts.committed}, lag #{lag}#{ended}."
        end

        def ended
          case @facts.decoded&.clean
          when true then ", by an owner that had ended in order"
          when false then ", by an owner that went on, or died"
          end
        end

        def owner
          return "The partition belongs to #{@facts.owner}." if @facts.owner
          "No member of the group has the partition, or the cluster can't tell."
        end
      end
    end
  end
end
