# frozen_string_literal: true

require_relative "../../printable"

module Penstock
  module CLI
    module Why
      # Explains what is known about one record of one group, from the group's commit and the offsets of the partition.
      # Pure: facts in, text out. A frozen value.
      class Answer
        # `low` and `high` of the partition, `stable` its last stable offset, where the first open transaction begins, or the
        # same as `high` (nil: unknown), `committed` offset or nil, `decoded` metadata of the commit
        # ({Native::Envelope::Decoded}), `exists` whether the log has a record at the offset (nil: not checked), `owner`
        # the member that has the partition (nil: none, or unknown), `dead` the topic of the group's dead letters (nil: none,
        # or unknown).
        Facts = Struct.new(:group, :topic, :partition, :offset, :low, :high, :stable, :committed, :decoded, :exists, :owner,
          :dead, :recorded, keyword_init: true)

        IGNORED = {
          foreign: "isn't Penstock's: what is complete beyond the offset isn't known",
          newer: "was written by a newer Penstock than this one: what is complete beyond the offset isn't known",
          damaged: "is damaged and ignored: what is beyond the offset runs again",
          other_offset: "belongs to another offset (a mirrored group?) and is ignored",
          other_topic: "belongs to another topic and is ignored"
        }.freeze
        private_constant :IGNORED

        # @return [Facts]
        attr_reader :facts

        # @param facts [Facts]
        def initialize(facts)
          @facts = facts
          freeze
        end

        # @return [Symbol] :complete, :complete_by_map, :incomplete, :untouched, :gone, :not_there, :nothing_committed, :gap,
        #   :waits_for_transaction
        def state
          return :not_there if @facts.offset >= @facts.high
          return :gap if @facts.exists == false && @facts.offset >= @facts.low
          return below_low if @facts.offset < @facts.low
          return :complete if @facts.committed && @facts.offset < @facts.committed
          return :complete_by_map if mapped?
          return :waits_for_transaction if transaction_open? && @facts.offset >= @facts.stable
          return :nothing_committed unless @facts.committed
          (attempts.positive? || crashes.positive? || @facts.offset < seen) ? :incomplete : :untouched
        end

        # @return [Array<String>] the answer, what follows from it and who has the partition; after an empty line the details
        def lines
          details = [*counts, *ignored, *dead_letter, standing, *transaction, *@facts.recorded]
          [verdict, consequence, owner, "", *details].map { |line| Printable.line(line) }
        end

        # @return [Hash] the same as plain values
        def to_h
          {group: @facts.group, topic: @facts.topic, partition: @facts.partition, offset: @facts.offset, state: state,
           low: @facts.low, high: @facts.high, last_stable: @facts.stable, committed: @facts.committed, lag: lag,
           attempts: attempts, crashes: crashes, clean: @facts.decoded&.clean, metadata_ignored: @facts.decoded&.ignored,
           owner: @facts.owner, recorded: @facts.recorded}
        end

        # @return [Integer, nil] number of records between the commit and the end; nil without a commit
        def lag = @facts.committed && [@facts.high - @facts.committed, 0].max

        private

        def below_low = (@facts.committed && @facts.offset < @facts.committed) ? :complete : :gone

        def transaction_open? = !@facts.stable.nil? && @facts.stable < @facts.high
        def mapped? = runs.any? { |from, to| @facts.offset >= from && @facts.offset < to }
        def runs = @facts.decoded&.completed || []
        def attempts = @facts.decoded&.attempts.to_h.fetch(@facts.offset, 0)
        def crashes = @facts.decoded&.crashes.to_h.fetch(@facts.offset, 0)

        # The highest offset of which something is known: a record from there on was completed or tried.
        def seen = [*runs.map(&:last), *@facts.decoded&.attempts.to_h.keys, *@facts.decoded&.crashes.to_h.keys].max || -1

        def verdict
          record = "#{@facts.topic}/#{@facts.partition} offset #{@facts.offset}"
          case state
          when :complete then "#{record} is complete: the group has committed #{@facts.committed}; lower offsets are complete."
          when :complete_by_map then "#{record} is complete: the commit of #{@facts.committed} lists it as complete."
          when :incomplete then "#{record} is not complete, though later records are: it is running, being retried, or waits."
          when :untouched then untouched(record)
          when :gone then "#{record} is gone from the log, which begins at #{@facts.low}, before the group committed it."
          when :not_there then "#{record} doesn't exist yet: the partition ends at #{@facts.high}."
          when :gap then "#{record} is not a record for the group: compaction has removed it, it belongs to a transaction that " \
            "was aborted, or it is a marker of a transaction. It counts as complete as soon as the group passes it."
          when :waits_for_transaction then waits_for_transaction(record)
          else "#{record}: the group #{@facts.group} has committed nothing for this partition."
          end
        end

        # The record's next step, and the reader's.
        def consequence
          case state
          when :complete, :complete_by_map then "It isn't delivered to the group again, unless the group's offset is moved back."
          when :incomplete then "It is delivered until it is complete. `penstock why` with --dump shows what it waits for."
          when :untouched then waits
          when :gone then "The group can't get it any more. Compare the topic's retention with the group's lag."
          when :not_there then "Nothing can have consumed it. Check topic, partition and offset, and whether it was produced."
          when :gap then "There is nothing to deliver at this offset."
          when :waits_for_transaction then transaction_ends
          else "If the group consumes this partition, the record is delivered. Check the group's name: `penstock groups lag`."
          end
        end

        def waits
          return "It runs at this moment, or it is the next to run: --dump shows which." if @facts.offset == @facts.committed
          "It is delivered after the records before it. If the lag doesn't shrink, ask about offset #{@facts.committed}, the " \
            "first that isn't complete."
        end

        def waits_for_transaction(record)
          "#{record} waits for the end of a transaction, which began at offset #{@facts.stable}. Consumers get no record from " \
            "there on, whether it belongs to the transaction or not, unless their isolation.level is read_uncommitted."
        end

        def transaction_ends
          "It is delivered after that, except if its own transaction is aborted. Brokers abort a transaction after its " \
            "producer's transaction.timeout.ms; Kafka's kafka-transactions.sh lists those that hang (find-hanging) and ends " \
            "them (abort)."
        end

        # The first line names it if the record waits for it.
        def transaction
          return [] if !transaction_open? || state == :waits_for_transaction
          ["A transaction is open; records from offset #{@facts.stable} on wait for its end."]
        end

        def untouched(record)
          first = (@facts.offset == @facts.committed)
          "#{record} is not complete: the group has committed #{@facts.committed}" \
            "#{first ? ", which is this record, the next one" : ", #{@facts.offset - @facts.committed} before it"}. " \
            "A commit doesn't record whether it has been started."
        end

        def counts
          found = []
          found << "It has failed #{times(attempts)}; a commit remembers that for the next owner." if attempts.positive?
          found << "Its process died #{times(crashes)} while it was running alone." if crashes.positive?
          found
        end

        # A commit doesn't distinguish a record that was consumed from one that was dead-lettered.
        def dead_letter
          return [] unless @facts.dead && %i[complete complete_by_map].include?(state)
          ["If it has failed permanently, it is complete too, and was dead-lettered: `penstock dead list #{@facts.dead} " \
            "--topic #{@facts.topic} --all` lists such records."]
        end

        def times(count) = (count == 1) ? "once" : "#{count} times"

        def ignored
          found = @facts.decoded&.ignored
          found ? ["Warning: the commit's metadata #{IGNORED.fetch(found, found.to_s)}."] : []
        end

        def standing
          return "The log has offsets #{@facts.low} to #{@facts.high - 1}; nothing is committed." unless @facts.committed
          "The log goes from #{@facts.low} to #{@facts.high}; the group has committed #{@facts.committed}, lag #{lag}.#{ended}"
        end

        def ended
          case @facts.decoded&.clean
          when true then " It is the last commit of a clean stop."
          when false then " It isn't the last commit of a clean stop: its owner still runs, or died."
          end
        end

        def owner
          return "The partition belongs to #{@facts.owner}." if @facts.owner
          "No member of the group has the partition, or the cluster doesn't report it."
        end
      end
    end
  end
end
