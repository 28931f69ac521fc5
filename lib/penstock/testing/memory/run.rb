# frozen_string_literal: true

require_relative "../../printable"

module Penstock
  module Testing
    module Memory
      # The report of one run of the whole application ({Kit#consume_all}, {Kit#travel}): which records were consumed, retried,
      # dead-lettered, produced and committed, and which still wait. Read by tests; printed in their failures.
      class Run
        # A call of user code. `action`: :consume or a hook; `redelivered`: offsets that an earlier owner of the partition was
        # given already: before a rebalance, or a crash.
        Call = Struct.new(:group, :topic, :partition, :action, :offsets, :attempt, :redelivered, :error) do
          def consume? = action == :consume
          def place = "#{topic}/#{partition}"
          def same_records?(other) = offsets == other.offsets && place == other.place && group == other.group
          def shown_offsets = (offsets.size > 1) ? "offsets #{offsets.first} to #{offsets.last}" : "offset #{offsets.first}"
        end

        # A record that was consumed. `attempts`: calls of `consume` that were given it; `error`: of the last one, or nil.
        Consumed = Struct.new(:group, :topic, :partition, :offset, :attempts, :error) do
          def place = "#{topic}/#{partition}"

          def to_s
            "#{place} offset #{offset}#{", #{attempts} attempts" if attempts > 1}#{", failed with #{error.class}" if error}"
          end
        end

        # A record that left its topic after it had failed `attempts` times.
        Letter = Struct.new(:topic, :partition, :offset, :attempts, :to, :error) do
          def place = "#{topic}/#{partition}"

          def to_s
            "#{place} offset #{offset} to #{to} after #{attempts} #{(attempts == 1) ? "attempt" : "attempts"} (#{error.class}: " \
              "#{error&.message.to_s[0, 80]})"
          end
        end

        # Records that wait at the end of the run: for a time (`until`), or for user code (nil).
        Waiting = Struct.new(:topic, :partition, :offset, :count, :reason, :until) do
          def place = "#{topic}/#{partition}"

          def to_s
            "#{place} from offset #{offset}#{", #{count} records" if count > 1}: #{reason}" \
              "#{" until #{self.until.strftime("%F %T")}" if self.until}"
          end
        end

        # Lines of one kind that are printed.
        SHOWN = 10
        private_constant :SHOWN

        # @return [Array<Call>] calls of user code, in order, hooks too
        attr_reader :calls
        # @return [Array<Letter>]
        attr_reader :dead_lettered
        # @return [Array<Letter>] to retry topics
        attr_reader :sent_to_retry
        # @return [Array<Kit::ProducedMessage>] by user code, and letters
        attr_reader :produced
        # @return [Hash{Array(String, String, Integer) => Integer}] offsets committed in this run, by group, topic and partition
        attr_reader :committed
        # @return [Array<Waiting>]
        attr_reader :waiting
        # @return [Integer] virtual ms that passed
        attr_reader :duration_ms
        # @return [Array<Exception>] reported by poll loops, without a record
        # @api private
        attr_reader :reported
        # @return [Array<String>] topics whose breaker has opened
        attr_reader :held
        # @return [Hash{String => Array(Integer, String)}] topics of the test's own messages that no route reads: how many, and
        #   what was probably meant
        # @api private
        attr_reader :unread
        # @return [Exception, nil]
        # @api private
        attr_reader :abort
        # @api private
        attr_writer :crashed

        # @param began_ms [Integer] virtual ms
        def initialize(began_ms)
          @began_ms = began_ms
          @calls = []
          @dead_lettered = []
          @sent_to_retry = []
          @produced = []
          @committed = {}
          @waiting = []
          @reported = []
          @held = []
          @unread = {}
          @crashed = false
        end

        # @return [Array<Consumed>] each record once, in the order in which they were first consumed
        def consumed
          calls.select(&:consume?).each_with_object({}) do |call, found|
            call.offsets.each do |offset|
              record = found[[call.group, call.topic, call.partition, offset]] ||=
                Consumed.new(call.group, call.topic, call.partition, offset, 0)
              record.attempts += 1
              record.error = call.error
            end
          end.values
        end

        # @return [Array<Consumed>] those that were consumed more than once
        def retried = consumed.select { |record| record.attempts > 1 }

        # @return [Array<Consumed>] those that had been given to a consumer before a rebalance or a crash
        def redelivered
          again = calls.flat_map { |call| call.redelivered.map { |offset| [call.group, call.topic, call.partition, offset] } }
          consumed.select { |record| again.include?(record.to_a.first(4)) }
        end

        # @return [Array<Exception>] of user code, in order; one per failed call
        def errors = calls.filter_map(&:error)

        # @return [Boolean] whether the process has died in it
        def crashed? = @crashed

        # The run ends here.
        # @api private
        # @param now_ms [Integer] virtual ms
        # @param lanes [Array<Processing::Lane>]
        # @param clock [Clock]
        # @param abort [Exception, nil] what is raised instead of returning it
        def finish(now_ms, lanes, clock, abort: nil)
          @duration_ms = now_ms - @began_ms
          @abort = abort
          lanes.each { |lane| wait_of(lane, clock) } unless crashed?
        end

        # @return [String] everything, shortened
        def to_s
          parts = {"consumed" => consumed, "dead-lettered" => dead_lettered, "sent to retry topics" => sent_to_retry,
                   "produced" => produced.map { |message| produced_line(message) },
                   "committed" => committed.map { |place, offset| commit_line(*place, offset) },
                   "redelivered" => redelivered, "waiting" => waiting, "errors" => errors.map { |error| error_line(error) }}
          lines = parts.flat_map { |name, entries| section(name, entries) }
          lines << "the process has crashed" if crashed?
          lines << "nothing was consumed, and nothing produced" if lines.empty?
          [*lines, *unread.map { |topic, (count, hint)| unread_line(topic, count, hint) }].join("\n")
        end

        def inspect = "#<#{self.class} #{consumed.size} consumed, #{dead_lettered.size} dead-lettered, #{produced.size} produced>"

        private

        def section(name, entries)
          return [] if entries.empty?
          left = entries.size - SHOWN
          ["#{name}:", *entries.first(SHOWN).map { |entry| "  #{entry}" }, *("  … and #{left} more" if left.positive?)]
        end

        def produced_line(message)
          "#{message.topic}/#{message.partition}#{" key #{Printable.inspect(message.key)}" if message.key} " \
            "#{Printable.inspect(message.payload)}"
        end

        def commit_line(group, topic, partition, offset) = "#{topic}/#{partition} offset #{offset} (#{group})"

        def unread_line(topic, count, hint)
          messages = (count == 1) ? "1 message" : "#{count} messages"
          ["no route reads the topic #{topic} (#{messages} of the test)", *hint].join(". ")
        end

        def error_line(error) = "#{error.class}: #{error.message.to_s[0, 200]}"

        def wait_of(lane, clock)
          hold = lane.holds.to_h.first
          due = [lane.holds.next_due, lane.intake.due, lane.division.next_due].compact.min
          reason = hold&.first || lane.intake.reason || (:retry if due)
          return unless reason
          base = lane.committable_offset || 0
          count = [lane.log_end.to_i - base, 1].max
          @waiting << Waiting.new(*lane.key, base, count, reason, due && time(due, clock))
        end

        def time(due_ms, clock) = Time.at((clock.wall_ms + due_ms - clock.monotonic_ms) / 1_000.0)
      end
    end
  end
end
