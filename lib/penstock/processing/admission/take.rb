# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "../../on_demand"
require_relative "../effects/effects"
require_relative "lost_records"
require_relative "part"
Penstock.load_constant :Messages

module Penstock
  module Processing
    module Admission
      # Admits a take into its lane: decides from its first offset whether its records follow, repeat or contradict what the
      # ledger knows, moves the ledger and fills the backlog. Returns effects for everything that must happen outside the lane.
      #
      # A take that does not begin at the ledger's tail is never admitted, because lost records would look like a gap.
      class Take
        # librdkafka's number for "the offset is out of range and the policy is `error`".
        AUTO_OFFSET_RESET = -140
        private_constant :AUTO_OFFSET_RESET

        # @param clock [Clock]
        def initialize(clock = Clock::SYSTEM)
          @clock = clock
        end

        # @param lane [Lane]
        # @param batch [#size, #from, #to, #offset, #eof, #error]
        # @param low [Integer, nil] the partition's known low watermark
        # @return [Array<Effect>]
        def call(lane, batch, low = nil)
          lane.takes.ready = batch.full?
          begin_at = lane.takes.begin
          return [Effect::Seek.new(begin_at, :newcomer)] if begin_at
          effects = wrong_start(lane, batch, low) || admitted(lane, batch, low)
          lane.takes.align unless batch.to == lane.takes.next_offset
          batch.error ? effects + failed(lane, batch.error) : effects
        rescue LaneDiscontinuity => error
          discontinuity(lane, error)
        end

        private

        # @return [Array<Effect>, nil] if the source doesn't begin at the committed offset for an unknown reason: nothing is taken
        def wrong_start(lane, batch, low)
          return if lane.takes.start.confirmed?
          place = batch.size.zero? ? batch.eof : batch.offset(0)
          expected = lane.takes.next_offset
          case place && lane.takes.start.judge(place, expected, low)
          when :seek then [Effect::Seek.new(lane.takes.start.target(expected, low), :above_committed)]
          when :ask then [Effect::ReadOffsetAgain.new(place)]
          end
        end

        def admitted(lane, batch, low)
          effects = batch.size.zero? ? [] : records(lane, batch, low)
          # Rejected records aren't a gap.
          effects += at_end(lane, batch.eof, low) if batch.eof && effects.grep(Effect::Seek).empty?
          effects
        end

        def records(lane, batch, low)
          first = batch.offset(0)
          expected = lane.takes.next_offset
          return Part.of(batch).flat_map { |part| records(lane, part, low) } if Part.steps_back?(batch)
          return begin_at(lane, batch, first) unless expected
          return before_tail(lane, batch, first, expected) if first < expected
          check_cursor(lane, batch, expected)
          count = records_before_low(lane, batch, expected, low) if lane.redelivery.reading?
          return reread_rest(lane, batch, count, low) if count
          lost = LostRecords.in_take(lane, batch, expected, low)
          accept(lane, batch, expected, messages(batch))
          lost
        end

        # Detects that librdkafka skipped records while records are read again. If retention has deleted the first of them,
        # librdkafka continues where `auto.offset.reset` points, which may be the end of the log: the records in between were not
        # read.
        # @return [Integer, nil] number of records of the take before the low watermark, if it skipped records at that watermark
        def records_before_low(lane, batch, expected, low)
          return unless skipped?(lane, expected, low) && !batch.is_a?(Part)
          index = (0...batch.size).find { |each| batch.offset(each) > low }
          index if index && (index.zero? ? expected : batch.offset(index - 1) + 1) < low
        end

        # @return [Boolean] whether records to be read again may still exist, but later than the offset to read from
        def skipped?(lane, from, low) = !low.nil? && low > from && low < lane.ledger.tail

        def reread_rest(lane, batch, count, low)
          if count.positive?
            part = Part.new(batch, 0, count)
            accept(lane, part, lane.takes.next_offset, messages(part))
          end
          reread_from(lane, low)
        end

        # @param low [Integer] offset from which records are read once more
        def reread_from(lane, low)
          lost = LostRecords.between(lane, lane.takes.next_offset, low, low)
          lane.redelivery.drop_below(low)
          [*lost, Effect::Seek.new(low, :redelivery)]
        end

        # The source has reached the end of the partition: records that should have arrived by now are gone.
        def at_end(lane, eof, low)
          from = lane.takes.next_offset
          beyond = from && eof > from
          redelivered = beyond && lane.redelivery.reading?
          return reread_from(lane, low) if redelivered && skipped?(lane, from, low)
          lost = beyond ? LostRecords.between(lane, from, eof, low) : []
          lane.redelivery.drop_below(eof) if redelivered
          lane.takes.end_at(eof)
          lost
        end

        # Nothing was committed and nothing taken before: the ledger begins where the source begins.
        def begin_at(lane, batch, first)
          lane.ledger.reset(first)
          accept(lane, batch, first, messages(batch))
          []
        end

        def accept(lane, batch, from, messages)
          batch.context = Messages::Context.new(lane.topic.deserializers, @clock.wall_ms, lane.marks)
          lane.redelivery.reading? ? again(lane, batch, messages) : fresh(lane, batch, from, messages)
          # The start of the previous take decides whether the next part of this take is a repeat.
          lane.takes.read_from(from) unless Part.more?(batch)
        end

        # Records that a former owner completed beyond the committed offset don't run again.
        def fresh(lane, batch, from, messages)
          complete = admit(lane, batch, from, messages)
          lane.leader_epochs.record(batch)
          messages = messages.pick((0...messages.size).to_a - complete) if complete
          lane.intake.push(messages)
        end

        # Records redelivered after an error were admitted before; new ones may follow them in the same take.
        def again(lane, batch, messages)
          messages = lane.redelivery.admit(messages)
          unless messages.empty?
            fresh(lane, Part.new(messages.batch, messages.first_index, messages.size), lane.ledger.tail, messages)
          end
          lane.redelivery.record_take(batch.to)
        end

        def admit(lane, batch, from, messages)
          return lane.ledger.admit_batch(from, batch.to, batch) if messages.size == batch.size
          lane.ledger.admit(from, batch.to, messages.offsets)
        end

        def messages(batch)
          return Messages.new(batch, scheduled_ms: @clock.wall_ms) unless batch.is_a?(Part)
          Messages.new(batch.whole, batch.first_index, batch.size, scheduled_ms: @clock.wall_ms)
        end

        # The source owns the cursor: if it wasn't at the ledger's tail, records were taken and got lost on the way.
        def check_cursor(lane, batch, expected)
          return if batch.from.negative? || batch.from == expected
          raise LaneDiscontinuity.new(topic: lane.topic_name, partition: lane.partition, expected: expected,
            actual: batch.from)
        end

        def before_tail(lane, batch, first, expected)
          return repeats(lane, batch, expected) if lane.takes.may_repeat?(first)
          reset(lane, batch, first, expected)
        end

        # The source has fetched records again after a rebalance: those below the tail were seen before.
        def repeats(lane, batch, expected)
          rest = messages(batch).from_offset(expected)
          accept(lane, batch, expected, rest) unless rest.empty?
          []
        end

        # The log went backwards without a seek of ours: the topic was re-created, or records were truncated.
        def reset(lane, batch, first, expected)
          lane.reincarnate(first)
          accept(lane, batch, first, messages(batch))
          [Effect::Emit.new("consumer.offset_reset", {topic: lane.topic_name, partition: lane.partition, old_offset: expected,
            new_offset: first, count: expected - first, reason: "the log went backwards"})]
        end

        # librdkafka continues by itself after any error of a partition except one: with the policy `error` for an offset out of
        # range it stops fetching until the partition is assigned again.
        def failed(lane, error)
          number, message = error
          hold = Effect::Hold.new(:critical, nil) if number == AUTO_OFFSET_RESET
          [hold, Effect::Report.new(number, message)].compact
        end

        def discontinuity(lane, error)
          [Effect::Emit.new("consumer.discontinuity", {topic: lane.topic_name, partition: lane.partition,
            expected: lane.takes.next_offset, actual: error.actual}),
            Effect::Seek.new(lane.takes.next_offset, :discontinuity)]
        end
      end
    end
  end
end
