# frozen_string_literal: true

require "json"
require_relative "../../on_demand"
require_relative "../../processing/topic_pipeline"
require_relative "../../processing/transaction_marks"
require_relative "../../processing/recording/offsets"
require_relative "../../processing/recording/row_encoder"
require_relative "again"
require_relative "beginning"
require_relative "out"
require_relative "outcomes"
require_relative "effect_context"
require_relative "route"
require_relative "script"
Penstock.load_constant :Messages

module Penstock
  module CLI
    module Replay
      # Feeds the recorded inputs of one lane to the deciders of this installation, at the recorded times, and compares
      # their decisions with the recorded ones. It stops at the first difference: later decisions would differ because
      # of it.
      #
      # Used once, on the command's thread.
      class Machine
        # A decision that differs from the recorded one.
        Difference = Struct.new(:entry, :what, :recorded, :replayed)

        # Reasons why a decision can't be made again from a dump.
        ADMISSION = "the admission of records depends on more than the dump contains"
        SUSPECTS = "records that may have killed a process were run one at a time"
        KEYS = "records gathered whose key no unit has"
        GAPS = "a take had more gaps than were recorded"
        # The number of units that run at once depends on workers, which come and go: the recorded one is used.
        WIDE = 1_000_000
        private_constant :ADMISSION, :SUSPECTS, :KEYS, :GAPS, :WIDE

        # The time of the entry being replayed.
        Clock = Struct.new(:monotonic_ms) do
          def wall_ms = monotonic_ms
        end

        # @return [Script]
        attr_reader :script
        # @return [Difference, nil]
        attr_reader :difference
        # @return [Integer] decisions that were compared
        attr_reader :compared
        # @return [Script::Entry, nil] the first replayed entry; nil: there was no entry to start from
        attr_reader :began
        # @return [String, nil] why some or all decisions aren't made again
        attr_reader :left_out

        # @param recording [Hash{String => Object}] of a dump
        def initialize(recording)
          @recording = recording
          @script = Script.new(recording.fetch("entries"))
          @topic = Route.topic(recording.fetch("route"))
          @clock = Clock.new(0)
          @ports = EffectContext.new
          @compared = 0
          @keys = {}
          @left, @out = Out.new, Out.new
        end

        # @return [self]
        def run
          lane # from here on it is known what its route admits
          @left_out = ADMISSION unless admission_known?
          return self if @left_out
          @script.entries.each do |entry|
            break if @difference
            @clock.monotonic_ms = entry.at
            @lane ? step(entry) : try_to_begin(entry)
          end
          self
        end

        private

        def topic_pipeline
          @topic_pipeline ||= Processing::TopicPipeline.new(@topic, critical_errors: [SystemExit, SignalException, NoMemoryError],
            concurrency: @recording.fetch("width"), clock: @clock)
        end

        def try_to_begin(entry)
          return new_lane(entry) if entry.kind == :assigned
          @left.delete(entry.values.first(2)) { true } if entry.kind == :outcome
          @given_up ||= %i[lost leave].include?(entry.kind)
          return if @given_up || entry.kind != :state || !admitted_until?(entry)
          begun = Beginning.new(@script, entry, method(:lane), method(:messages)).call or return
          @began, (@lane, @out, @exact) = entry, begun
          @script.out_at(entry).each { |unit| @keys[unit.first] = unit.key }
          @incarnation = entry[4]
        end

        def new_lane(entry)
          @began ||= entry
          @lane = lane(entry[0])
          wait_for_earlier
          @given_up = @probing = false
          @exact = true
          @incarnation = 0
        end

        # Units of an earlier assignment still run, so their keys wait.
        def wait_for_earlier
          @left = @left.consuming(@out)
          @out = Out.new
          @lane.division.block(@left.units.map(&:key)) if @lane.by_key?
        end

        def lane(epoch = 1)
          place = @recording.fetch_values("topic", "partition")
          consumed = topic_pipeline.lane(*place, epoch)
          @plain = consumed.prepare.nil? && consumed.pipeline.nil? && !@recording.fetch("route")["segment"]
          features = @topic.features
          unknown = features[:batch]&.bytes || features[:throttle]&.per_key? # a dump has neither sizes nor these times
          @plain &&= !unknown
          @withdraws = unknown || consumed.pipeline&.recheck?
          topic_pipeline.lane(*place, epoch, pipeline: nil, prepare: nil, suspects: nil)
            .tap { |lane| lane.division.width = WIDE if lane.by_key? }
        end

        # Whether all taken records are admitted at once, or each admitted record is recorded. The age of a record
        # waiting for admission isn't.
        def admission_known? = @plain || (!@withdraws && @script.admissions?)

        # Before a take no record waits for admission.
        def admitted_until?(state) = @plain || @script.entries[state.number + 1]&.kind == :take

        def step(entry)
          name = :"on_#{entry.kind}"
          send(name, entry) if respond_to?(name, true)
        end

        # --- inputs

        def on_assigned(entry) = new_lane(entry)

        def on_adopted(entry)
          more = @script.following(entry, :complete, :attempts)
          counts = more.select { |one| one.kind == :attempts }
          @lane.retry_adopted(counts.to_h { |one| [one[0], one[1]] }, counts.first[2]) if counts.any?
          @lane.adopt(entry[0], more.select { |one| one.kind == :complete }.map(&:values))
        end

        def on_state(entry)
          return unless @exact
          ledger = @lane.ledger
          compare(entry, "the state of the lane (base, tail, incomplete)", entry.values.first(3),
            [ledger.base, ledger.tail, ledger.incomplete])
        end

        def on_take(entry)
          offsets = @script.records(entry) or return leave_out(GAPS)
          recorded = @script.effects(entry)
          Again.foresee(@lane, recorded, offsets)
          low = Again.low_watermark(@lane, recorded, offsets, entry[5])
          effects = topic_pipeline.admission.call(@lane, batch(entry, offsets), low)
          compare(entry, "the effects of the take", recorded, wording(effects))
          perform(effects)
          admit(entry)
        end

        # User code, or a time limit, has decided.
        def on_let_in(entry)
          offsets = Processing::Recording::Offsets.of(entry.values)
          return leave_out(ADMISSION) if offsets.empty?
          Again.waits_no_longer(@lane, offsets)
          push(messages(offsets), entry)
        end

        def on_dropped(entry)
          offsets = Processing::Recording::Offsets.of(entry.values)
          return leave_out(ADMISSION) if offsets.empty?
          Again.waits_no_longer(@lane, offsets)
          @lane.drop(offsets)
        end

        def on_unit(entry)
          unit = @script.unit(entry)
          return if unit.action == "prepare"
          return @out.add(unit.action, unit.first, @lane.action_unit(unit.action.to_sym, nothing)) unless unit.action == "consume"
          @keys[unit.first] = unit.key
          handed = hand_out(unit)
          compare(entry, "the records of the next unit (first, last, count, attempt)",
            [unit.first, unit.last, unit.size, unit.attempt], handed && facts(handed))
          @out.add("consume", unit.first, handed)
        end

        def on_outcome(entry)
          wish, callback_results, stale, reached, held = @wish, @callback_results, @stale, @reached, @held
          @wish = @callback_results = @stale = @reached = @held = nil
          unit = @out.delete(entry.values.first(2)) { |one| came_back?(one, stale) }
          return action_ended(entry, unit, wish, stale) unless entry[0] == "consume"
          return ended_late(entry) unless unit
          return leave_out(Again::HELD) if held == []
          Again.share_consumer(@lane, unit, held) if held
          unit.begin_next_call until unit.rest.nil? || unit.stretch.calls == reached
          compare(entry, "the lowest incomplete offset", entry[5], @lane.ledger.base) if @exact
          settle(entry, Outcomes.build(unit, entry, wish, callback_results))
        end

        # @param stale [Integer, nil] the incarnation of a unit that is ignored
        def came_back?(unit, stale)
          return unit.incarnation == @lane.incarnation unless stale
          unit.incarnation != @lane.incarnation && unit.incarnation + @incarnation == stale
        end

        # The end of a hook, a tick, or a question to user code about records: marks are read then too, and user code
        # may have requested something.
        def action_ended(entry, unit, wish, stale)
          unit ||= @lane.action_unit(entry[0].to_sym, nothing) unless stale || entry[0] == "prepare"
          @lane.returned(unit) if unit
          @script.following(entry, :back).each { |back| called_back(back) }
          return if stale
          return perform(topic_pipeline.settle(@lane, Outcomes.build(unit, entry, wish, nil), entry.at)) if unit && entry[2]
          @lane.take_marks unless @lane.by_key?
          flow = Outcomes.flow(wish) if wish
          perform(topic_pipeline.request(@lane, flow, entry.at)) if flow && !flow.is_a?(Symbol)
        end

        def ended_late(entry)
          unit = @left.delete(entry.values.first(2)) { true } or return
          @lane.division.unblock(unit.key) if @lane.by_key?
        end

        def settle(entry, outcome)
          @lane.returned(outcome.unit)
          outcome.unit.record_time(outcome.time_us) if outcome.time_us
          @script.following(entry, :back).each { |back| called_back(back) }
          outcome.unit.requeue_rest
          recorded = @script.effects(entry)
          return Again.trip(@lane, outcome, recorded) if recorded.any? { |effect| effect.first(2) == %w[Hold breaker] }
          effects = topic_pipeline.settle(@lane, outcome, entry.at)
          compare(entry, "the effects of the outcome", recorded, wording(effects))
          perform(effects)
          @lane.redelivery.settled(outcome.unit)
        end

        # The next outcome belongs to an earlier assignment, or to an earlier incarnation of the lane.
        def on_stale(entry) = @stale = entry[0]

        # Its unit had several calls: this many were begun.
        def on_reached(entry) = @reached = entry[0]

        # Other units of the failing consumer; empty: there were too many.
        def on_held(entry) = (@held ||= []).concat(entry.values)

        # After an error the lane is rewound to the first record that its consumer may have lost.
        def on_redelivery(entry)
          from = @lane.redelivery.begin
          return leave_out(Again::HELD) unless @exact || from == entry[0]
          compare(entry, "the offset from which records are redelivered", entry[0], from)
        end

        def on_wish(entry) = @wish = entry.values
        def on_advice(entry) = @callback_results = entry.values

        def on_asked(entry)
          @script.following(entry, :back).each { |back| called_back(back) }
          flow = Outcomes.flow(entry.values)
          perform(topic_pipeline.request(@lane, flow, entry.at)) unless flow.is_a?(Symbol)
        end

        # Those that follow an outcome or a wish were handled there.
        def on_back(entry)
          before = @script.entries[entry.number - 1]&.kind
          called_back(entry) unless %i[outcome asked back].include?(before)
        end

        def called_back(entry) = @lane.put_back(@out.call_back(entry[0]))

        def on_mark(entry)
          through, first = entry.values
          return @lane.marks.reported(through - 1) unless first
          Again.cell_of(@lane, first)&.reported(through)
        end

        def on_carried(entry)
          offset, first, exact = entry.values
          cell = exact ? letter_at(offset) : first && Again.cell_of(@lane, first)
          Processing::TransactionMarks.new(@lane, [[cell, offset]]).commit(@lane.commit_state.offset, nil) if cell || first.nil?
        end

        def letter_at(offset)
          request = @ports.pending(offset)
          Consumer::Claim::Exact.new(request.letter.record) if request
        end

        def on_letter(entry)
          request = @ports.letter(entry[0]) or return
          @lane.letter_done
          perform(request.acknowledged(@lane))
        end

        def on_expired(entry)
          @lane.holds.expire(entry.at)
          @lane.division.expire(entry.at)
        end

        def on_commit(entry)
          @lane.take_marks
          compare(entry, "the committed offset", entry[0], @lane.committable_offset) if @exact
        end

        def on_incarnation(entry)
          @lane.reincarnate(entry[1]) if @lane.incarnation + @incarnation < entry[0]
        end

        # The topic's breaker is open: the next unit is the one record that is tried.
        def on_probe(_entry) = @probing = true

        def on_suspected(_entry) = leave_out(SUSPECTS)

        def on_went_on(entry) = @lane.complete_through(entry[0])
        def on_leave(_entry) = @lane.leave!
        def on_lost(_entry) = @lane.end_ownership!
        def on_cut_off(_entry) = @lane.cut_off!

        # --- helpers

        def hand_out(unit)
          @lane.attempts.restore(unit.first, unit.attempt - 1) if unit.attempt > 1 && !@exact
          return unless @lane.waiting?
          @lane.division.calls = unit.size.fdiv(@topic.max_messages).ceil unless @lane.by_key?
          probe, @probing = @probing, false
          return @lane.probe if probe
          @lane.probing.clear # the breaker has closed
          @lane.next_unit
        end

        # No more decisions of this assignment are made again.
        def leave_out(why)
          @left_out ||= why
          @left = @left.consuming(@out)
          @out = Out.new
          @lane = nil
          @given_up = true
        end

        def admit(take)
          while @plain && @lane && (entry = @lane.intake.shift)
            push(entry.messages, take)
          end
        end

        # A record's key is known from the units that had it. With keys in parallel, a record that no unit had can be
        # left out.
        def push(messages, entry)
          known = @lane.by_key? ? handed_out(messages, entry) : messages
          return leave_out(KEYS) if known.size < messages.size && @topic.features[:batch]
          @lane.admit(known, known.offsets.map { |offset| @script.key(offset, entry) })
        end

        def handed_out(messages, entry)
          messages.pick((0...messages.size).select { |index| @script.handed_out?(messages.offset_at(index), entry) })
        end

        def batch(entry, offsets)
          from, to, _size, _first, _last, eof, full = entry.values
          _name, error = @script.effects(entry).find { |name, *| name == "Report" }
          Messages::MemoryBatch.new(@lane.topic_name, @lane.partition, rows(offsets), from: from, to: to, eof: eof, full: full,
            error: error && [error, ""])
        end

        def messages(offsets)
          batch = Messages::MemoryBatch.new(@recording.fetch("topic"), @recording.fetch("partition"), rows(offsets))
          Messages.new(batch)
        end

        def nothing = messages([])
        def rows(offsets) = offsets.map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "") }

        def facts(unit)
          messages = unit.stretch || unit.messages
          [messages.first_offset, messages.last_offset, messages.size, unit.attempt]
        end

        def wording(effects)
          rows = JSON.parse(JSON.generate(Processing::Recording::RowEncoder.effects(effects, method(:shown))))
          rows.each { |row| row.pop while row.last.nil? }
        end

        # When divided by message, the record itself is the key; the dump has a stand-in for it.
        def shown(key) = (by_message? && @keys.key?(key)) ? @keys[key] : key
        def by_message? = @topic.features[:parallel]&.message?

        def perform(effects) = effects.each { |effect| effect.perform(@lane, @ports) }

        def compare(entry, what, recorded, replayed)
          @compared += 1
          @difference ||= Difference.new(entry, what, recorded, replayed) unless recorded == replayed
        end
      end
    end
  end
end
