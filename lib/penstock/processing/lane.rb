# frozen_string_literal: true

require_relative "../consumer/marks"
require_relative "attempts"
require_relative "division/in_order"
require_relative "holds"
require_relative "intake"
require_relative "leader_epochs"
require_relative "ledger"
require_relative "probed"
require_relative "redelivering"
require_relative "transacted"
require_relative "unit"

module Penstock
  module Processing
    # One partition we own, from its assignment until it is revoked: what is complete (ledger), what waits (backlog), what runs,
    # and why it may be held (holds).
    #
    # Owned by the poll loop of its subscription group; no other thread touches it, except for `marks`, which workers write. It
    # decides and keeps state, and performs nothing: actions outside the lane are returned as effects. A seek or a log that went
    # backwards begins a new *incarnation*: marks and outcomes of the previous one don't count any more.
    #
    # States: opening (held until its committed offset is known) → open ⇄ held → leaving (revocation, stop: nothing new, running
    # units may end and their marks count) → gone (lost or revoked: nothing counts).
    class Lane
      include Probed
      include Redelivering
      include Transacted

      # Usable share of the room for the map in a commit's metadata.
      PRESSURE = 0.75

      attr_reader :topic, :topic_name, :partition, :epoch, :incarnation, :ledger, :division, :holds, :attempts, :leader_epochs
      attr_reader :marks, :source, :committed, :intake

      # @return [Integer, nil] monotonic ms until which records wait that an earlier owner was retrying
      attr_reader :adopted_until

      # @return [Integer] units of records that have ended since the assignment
      attr_reader :ended_units

      # The runtime's slot for the lane in its run queue, and a second one for units that prepare records.
      attr_accessor :slot, :prepare_slot

      # The user's filters and partitioner, called by workers only ({Admission::Prepare}), and the built-in admission steps
      # ({Admission::Pipeline}). Both may be nil.
      attr_accessor :prepare, :pipeline

      # Records what happens to the lane ({Recording::Track}), and finds records that may have killed the process
      # ({Failure::CrashCounts}). Both may be nil.
      attr_accessor :recording, :suspects

      # Whether the source may have records; and offset metadata that was adopted with the committed offset.
      attr_accessor :ready, :adopted_metadata

      # @param topic [Routing::Topic] the route
      # @param topic_name [String] name in Kafka (differs from the route's for patterns)
      # @param partition [Integer]
      # @param epoch [Integer] number of the assignment
      # @param source [Object] records are taken from it
      # @param division [Division::InOrder, Division::ByKey] cuts buffered records into units
      def initialize(topic:, topic_name:, partition:, epoch:, source: nil, division: Division::InOrder.new(topic.max_messages))
        @topic = topic
        @topic_name = topic_name
        @partition = partition
        @epoch = epoch
        @source = source
        @incarnation = 0
        @ledger = Ledger.new
        @division = division
        @intake = Intake.new
        @holds = Holds.new
        @attempts = Attempts.new
        @leader_epochs = LeaderEpochs.new
        @redelivery = Redelivery.new
        @marks = Consumer::Marks.for(topic)
        @out = @letters = @ended_units = 0
        @fresh_records = !topic.features[:retry_topics]&.delayed?
        @owned = @ready = @fresh = true
        @leaving = @may_repeat = false
        @previous_from = @begin_at = @end = @map_committed = nil
      end

      # @return [Array(String, Integer)] topic and partition
      def key = @key ||= [@topic_name, @partition].freeze

      def owned? = @owned
      def leaving? = @leaving

      # @return [Boolean] whether none of its units runs, and no dead letter is on its way
      def idle? = @out.zero? && @letters.zero?

      # A dead letter of this incarnation is on its way; its record is incomplete until {#letter_done}.
      def letter_sent = @letters += 1
      def letter_done = @letters -= 1

      def in_flight = @out

      # The committed offset is known (nil: the group never committed here).
      # @param offset [Integer, nil]
      # @param ranges [Array<Array(Integer, Integer)>] complete beyond it, from the commit's metadata
      def adopt(offset, ranges = [])
        @ledger.reset(offset)
        @ledger.restore(ranges) if offset && !ranges.empty?
        @committed = offset
        @map_committed = @ledger.version
      end

      # Restores records that an earlier owner was retrying.
      # @param attempts [Hash{Integer => Integer}] failed attempts by offset
      # @param at_ms [Integer] monotonic ms at which they may run again
      def retry_adopted(attempts, at_ms)
        attempts.each { |offset, count| @attempts.restore(offset, count) }
        return @adopted_until = at_ms if by_key?
        @division.isolate(nil, attempts.keys.max)
        @holds.add(:retry, at_ms)
      end

      # @return [Boolean] whether units of several keys run in parallel
      def by_key? = @division.by_key?

      # @return [Boolean] whether a unit could be handed out now, if there are records
      def open? = @holds.open? && !@leaving && owned?

      # @return [Integer] records to take from the source now, 0 for none
      def wanted
        return 0 unless @ready && takes? && @intake.room?
        wanted = @division.wanted(self)
        return wanted unless by_key? && wanted.positive? && pressed?
        @ledger.incomplete.zero? ? [wanted, @topic.max_messages].min : 0 # a former owner left that much: else it never ends
      end

      # @return [Boolean] whether the offsets complete beyond the base may become too many for a commit's metadata: then nothing
      #   more is taken until the base moves
      def pressed?
        return @pressed if @pressed_version == @ledger.version
        @pressed_version = @ledger.version
        @pressed = @ledger.pressure(attempts: @attempts.size, user_bytes: user_bytes) >= PRESSURE
      end

      # @return [Integer] bytes of a commit's metadata that are the user's
      def user_bytes = [(@marks.metadata || @adopted_metadata).to_s.bytesize, Consumer::Marks::MAX_METADATA_BYTES].min

      # @return [Boolean]
      def waiting? = open? && @division.waiting?

      # With manual offsets and parallel keys an unmarked record keeps filling the window.
      # @return [Integer, nil] the base, if the unit of its record has ended without marking it
      def unmarked = (@ledger.base if by_key? && @ledger.known? && @division.unmarked?(@ledger.base))

      # @return [Unit, nil] the next unit to run
      def next_unit
        return unless waiting?
        @out += 1
        @division.next_unit(self)
      end

      # Creates the unit in which a worker passes the first waiting records to filters and partitioner.
      # @return [Unit]
      def prepare_unit
        messages = @intake.shift.messages
        @intake.preparing = messages.first_offset
        @out += 1
        Unit.new(self, :prepare, messages, nil, 1, @incarnation)
      end

      # Creates a unit that concerns all consumers of the lane: where keys run in parallel nothing else may run meanwhile.
      # @param action [Symbol] a hook, :eofed or :tick
      # @return [Unit] counted like any other until {#returned}
      def action_unit(action, messages)
        @out += 1
        @holds.add(:instances) if by_key?
        Unit.new(self, action, messages, nil, 1, @incarnation)
      end

      # A unit came back, run or not.
      # @param unit [Unit]
      def returned(unit)
        @out -= 1
        came_back(unit)
        return @division.returned(unit) if unit.consume?
        @holds.release(:instances)
      end

      # @param unit [Unit]
      # @param time_us [Integer] its duration
      def unit_took(unit, time_us)
        return unless unit.consume?
        @ended_units += 1
        @division.took(unit.stretch ? time_us / unit.stretch.calls : time_us)
      end

      # Units that were handed out and never started come back, in order.
      # @param units [Array<Unit>]
      def take_back(units)
        @suspects&.returned(units)
        units.each { |unit| returned(unit) }
        units.each { |unit| unprepared(unit) if unit.prepare? && unit.incarnation == @incarnation }
        @division.take_back(units.select { |unit| unit.consume? && unit.incarnation == @incarnation })
        units.each { |unit| settled(unit) }
      end

      # These records were not passed to filters and partitioner after all.
      def unprepared(unit)
        @intake.preparing = false
        @intake.put_back(unit.messages)
      end

      # Everything below +offset+ is complete.
      def complete_through(offset)
        return unless @ledger.complete_through(offset)
        @attempts.complete_through(@ledger.base)
        reach_end if @end
      end

      # These records are complete, regardless of the records before them.
      # @param messages [Enumerable<Message>]
      def complete(messages)
        by_key = by_key?
        messages.each do |message|
          offset = message.offset
          next unless @ledger.complete(offset)
          @division.completed(message.bytesize) if by_key
          @attempts.forget(offset)
        end
        @attempts.complete_through(@ledger.base) if @attempts.any?
        reach_end if @end
      end

      # Completes records that go into no unit: filtered, or expired.
      # @param offsets [Array<Integer>]
      def drop(offsets)
        return if offsets.empty?
        @ledger.complete_many(offsets)
        offsets.each { |offset| @attempts.forget(offset) }
        reach_end if @end
      end

      # Reads the user's marks.
      # @param limit [Integer, nil] marks count only below it (a seek's target)
      # @param unit [Unit, nil] where keys run in parallel: only the marks of this unit
      def take_marks(limit = nil, unit = nil)
        return unit ? marked(unit, limit) : @division.each_mark(@ledger.base || 0) { |each| marked(each, limit) } if by_key?
        through = limit ? [@marks.through, limit].min : @marks.through
        complete_through(through) if through >= 0
      end

      # @param unit [Unit]
      # @return [Messages] its incomplete records
      def incomplete_of(unit)
        return unit.messages unless @ledger.known?
        return unit.messages.from_offset(@ledger.base) unless by_key?
        messages = unit.messages
        messages.pick((0...messages.size).reject { |index| @ledger.complete?(messages.offset_at(index)) })
      end

      # After an answered rebalance the source may repeat records that it delivered: they don't mean that the log was reset.
      def may_repeat! = @may_repeat = true

      # @return [Boolean] whether records from there on are repeats; true until a take has passed the tail
      def may_repeat?(first_offset) = @may_repeat && !@previous_from.nil? && first_offset >= @previous_from

      # Remembers the start of a take.
      def took(from)
        @previous_from = from
        @may_repeat = false
        @fresh = false
        @end = nil
      end

      # The lane begins at another offset than its source. Only a source that has started can seek, so the seek happens
      # when the first result comes from it.
      # @return [Symbol] :earliest or :latest
      attr_writer :begin_at

      # @return [Symbol, nil] once after {#begin_at}
      def take_begin
        target, @begin_at = @begin_at, nil
        target
      end

      # The source has reached the end of the partition.
      # @param offset [Integer] of the next record to come
      def end_at(offset)
        return @ledger.reset(offset) unless @ledger.known?
        @end = offset
        reach_end
      end

      # @return [Boolean] true once, before the first take of the assignment was accepted
      def take_fresh
        fresh = @fresh
        @fresh = false
        fresh
      end

      # Begins a new incarnation: nothing of the previous one counts from here.
      # @param offset [Integer, nil] where the ledger begins; nil when the source decides
      def reincarnate(offset)
        @incarnation += 1
        @letters = 0
        @holds.release(:dead_letter) # the letter is dropped: nothing else would end this hold
        @ledger.reset(offset)
        @division.clear
        @intake.clear
        @redelivery.clear
        @holds.release(:redelivery)
        @pipeline&.reset
        @suspects&.clear
        @attempts = Attempts.new
        forget_tried
        @leader_epochs.clear
        @previous_from = @end = nil
        @fresh = false
        @marks.disown!
        @marks = Consumer::Marks.for(topic)
        @ready = true
        @recording&.started_over(offset)
      end

      # Stops admission; running units may end, and their marks count.
      def leave!
        @recording&.left(:leave, self) unless @leaving
        @leaving = true
        @suspects&.leave
        @marks.leave!
      end

      # Nothing of the lane counts any more.
      def disown!
        @recording&.left(:lost, self) if @owned
        @leaving = true
        @owned = false
        @letters = 0
        @marks.disown!
      end

      # The time for the stop is up: marked records count and may be committed, marks return false from here on.
      def cut_off!
        take_marks
        @recording&.left(:cut_off, self)
        @leaving = true
        @marks.cut_off!
      end

      # The offset to commit, or nil when the position is unknown.
      # @return [Integer, nil]
      def committable_offset = @ledger.committable

      # @return [Boolean] whether the commit differs from what the next owner should know: the offset, completed records beyond
      #   it, or attempts
      def uncommitted?
        return false unless @ledger.known?
        @ledger.committable != @committed || @ledger.version != @map_committed || [@attempts, *@suspects].any?(&:changed?)
      end

      # @param offset [Integer] acknowledged by the broker
      # @param version [Integer, nil] of the ledger, as in the commit
      def committed!(offset, version = @ledger.version)
        @committed = offset
        @map_committed = version
      end

      # @return [Hash] for dumps and `info`: plain values only
      def snapshot
        {topic: @topic_name, partition: @partition, epoch: @epoch, incarnation: @incarnation, base: @ledger.base,
         tail: @ledger.tail, committed: @committed, in_flight: @out, incomplete: @ledger.incomplete,
         intake: @intake.size, intake_waits: @intake.reason,
         **@division.to_h, holds: @holds.to_h, ready: @ready, leaving: @leaving, owned: owned?, attempts: @attempts.to_h,
         suspects: @suspects.to_h}
      end

      # @return [String] short: the contents would fill pages
      def inspect = "#<#{self.class} #{@topic_name}/#{@partition} epoch #{@epoch}>"

      private

      def marked(unit, limit)
        through = unit.marks&.through || -1
        return if through.negative? || unit.incarnation != @incarnation
        through = limit - 1 if limit && limit <= through
        complete(unit.messages.to_a.take_while { |message| message.offset <= through })
        @division.done(unit) if through >= unit.messages.last_offset
      end

      # With nothing incomplete the base moves to the end: transactional topics end in control records that never reach us.
      def reach_end
        return unless @ledger.dry? && @end > @ledger.tail
        @ledger.admit(@ledger.tail, @end, [])
        align
      end
    end
  end
end
