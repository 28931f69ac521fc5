# frozen_string_literal: true

require_relative "../consumer/marks"
require_relative "attempts"
require_relative "division/whole"
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
    # One partition we own, from its assignment until it is given up: what is done (ledger), what waits (backlog), what runs,
    # and why it may stand still (holds).
    #
    # Owned by the poll loop of its subscription group; no other thread touches it, but for `marks`, which workers write. It
    # decides and remembers, it performs nothing: what must happen outside comes back as effects. A seek or a log that went
    # backwards begins a new *incarnation*: marks and outcomes of the one before count no more.
    #
    # Life: opening (held until its committed offset is known) → open ⇄ held → leaving (revocation, stop: nothing new, what
    # runs may end and its marks count) → gone (lost or given up: nothing counts).
    class Lane
      include Probed
      include Redelivering
      include Transacted

      # Share of the room for the map in a commit's metadata that may be used.
      PRESSURE = 0.75

      attr_reader :topic, :topic_name, :partition, :epoch, :incarnation, :ledger, :division, :holds, :attempts, :leader_epochs
      attr_reader :marks, :source, :committed, :intake

      # @return [Integer, nil] monotonic ms until which records that an earlier owner was retrying wait
      attr_reader :adopted_until

      # What the runtime keeps for the lane in its run queue, and the same for units that ask user code about records.
      attr_accessor :slot, :prepare_slot

      # The user's filters and partitioner, which only workers call ({Admission::Prepare}), and whose time has come
      # ({Admission::Pipeline}). Both may be nil.
      attr_accessor :prepare, :pipeline

      # Where what happens to it is written down ({Recording::Track}), and which records may have killed the process
      # ({Failure::Suspects}). Both may be nil.
      attr_accessor :recording, :suspects

      # Whether the source may hold records; and offset metadata that was adopted from the committed offset.
      attr_accessor :ready, :adopted_metadata

      # @param topic [Routing::Topic] the route
      # @param topic_name [String] name in Kafka (differs from the route's for patterns)
      # @param partition [Integer]
      # @param epoch [Integer] number of the assignment the lane came with
      # @param source [Object] what records are taken from
      # @param division [Division::Whole, Division::Rolling] how what is at hand is cut into units
      def initialize(topic:, topic_name:, partition:, epoch:, source: nil, division: Division::Whole.new(topic.max_messages))
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
        @out = @letters = 0
        @fresh_records = !topic.features[:retry_topics]&.delayed?
        @owned = @ready = @fresh = true
        @leaving = @may_repeat = false
        @previous_from = @begin_at = @end = @map_committed = nil
      end

      # @return [Array(String, Integer)] topic and partition
      def key = @key ||= [@topic_name, @partition].freeze

      def owned? = @owned
      def leaving? = @leaving

      # @return [Boolean] whether nothing of it runs, and no dead letter is on its way
      def idle? = @out.zero? && @letters.zero?

      # A dead letter of this life is on its way; its record is incomplete until {#letter_done}.
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

      # Records that an earlier owner was retrying.
      # @param attempts [Hash{Integer => Integer}] failed attempts by offset
      # @param at_ms [Integer] monotonic ms at which they may run again
      def retry_adopted(attempts, at_ms)
        attempts.each { |offset, count| @attempts.restore(offset, count) }
        return @adopted_until = at_ms if rolling?
        @division.isolate(nil, attempts.keys.max)
        @holds.add(:retry, at_ms)
      end

      # @return [Boolean] whether units of several keys run side by side
      def rolling? = @division.rolling?

      # @return [Boolean] whether a unit could be handed out now, records provided
      def open? = @holds.open? && !@leaving && owned?

      # @return [Integer] records to take from the source now, 0 for none
      def wanted
        return 0 unless @ready && takes? && @intake.room?
        wanted = @division.wanted(self)
        return wanted unless rolling? && wanted.positive? && pressed?
        @ledger.incomplete.zero? ? [wanted, @topic.max_messages].min : 0 # a former owner left that much: else it stays as it is
      end

      # @return [Boolean] whether what is complete beyond the base may come to be too much for a commit's metadata: then nothing
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

      # With manual offsets and keys side by side a record that isn't marked fills the window.
      # @return [Integer, nil] the base, when the unit of its record has ended and left it unmarked
      def unmarked = (@ledger.base if rolling? && @ledger.known? && @division.unmarked?(@ledger.base))

      # @return [Unit, nil] the next piece of work
      def next_unit
        return unless waiting?
        @out += 1
        @division.next_unit(self)
      end

      # A worker is to ask user code about what waits first.
      # @return [Unit]
      def prepare_unit
        messages = @intake.shift.messages
        @intake.preparing = messages.first_offset
        @out += 1
        Unit.new(self, :prepare, messages, nil, 1, @incarnation)
      end

      # What concerns all consumers of the lane: where keys run side by side nothing else may run meanwhile.
      # @param action [Symbol] a hook, :eofed or :tick
      # @return [Unit] counted like any other until {#returned}
      def action_unit(action, messages)
        @out += 1
        @holds.add(:instances) if rolling?
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
      # @param time_us [Integer] what it took
      def unit_took(unit, time_us)
        @division.took(unit.stretch ? time_us / unit.stretch.calls : time_us) if unit.consume?
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

      # User code was not asked about these records after all.
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

      # These records are complete, whatever lies before them.
      # @param messages [Enumerable<Message>]
      def complete(messages)
        rolling = rolling?
        messages.each do |message|
          offset = message.offset
          next unless @ledger.complete(offset)
          @division.completed(message.bytesize) if rolling
          @attempts.forget(offset)
        end
        @attempts.complete_through(@ledger.base) if @attempts.any?
        reach_end if @end
      end

      # Records that go into no unit: filtered, or too old.
      # @param offsets [Array<Integer>]
      def drop(offsets)
        return if offsets.empty?
        @ledger.complete_many(offsets)
        offsets.each { |offset| @attempts.forget(offset) }
        reach_end if @end
      end

      # Reads the user's marks.
      # @param limit [Integer, nil] marks count only below it (a seek's target)
      # @param unit [Unit, nil] where keys run side by side: only what was marked in this unit
      def take_marks(limit = nil, unit = nil)
        return unit ? marked(unit, limit) : @division.each_mark(@ledger.base || 0) { |each| marked(each, limit) } if rolling?
        through = limit ? [@marks.through, limit].min : @marks.through
        complete_through(through) if through >= 0
      end

      # @param unit [Unit]
      # @return [Messages] its records that aren't complete
      def incomplete_of(unit)
        return unit.messages unless @ledger.known?
        return unit.messages.from_offset(@ledger.base) unless rolling?
        messages = unit.messages
        messages.pick((0...messages.size).reject { |index| @ledger.complete?(messages.offset_at(index)) })
      end

      # After an answered rebalance the source may repeat what it delivered: such records are no reset of the log.
      def may_repeat! = @may_repeat = true

      # @return [Boolean] whether records from there on are repeats; until a take has passed the tail
      def may_repeat?(first_offset) = @may_repeat && !@previous_from.nil? && first_offset >= @previous_from

      # Remembers where a take began.
      def took(from)
        @previous_from = from
        @may_repeat = false
        @fresh = false
        @end = nil
      end

      # The lane begins elsewhere than its source. Only a source that has started can be sought, so it is done with the first
      # thing that comes from it.
      # @return [Symbol] :earliest or :latest
      attr_writer :begin_at

      # @return [Symbol, nil] once after {#begin_at}
      def take_begin
        target, @begin_at = @begin_at, nil
        target
      end

      # The source has seen the end of the partition.
      # @param offset [Integer] of the next record to come
      def end_at(offset)
        return @ledger.reset(offset) unless @ledger.known?
        @end = offset
        reach_end
      end

      # @return [Boolean] true once, before the first take of the assignment was accepted
      def fresh?
        fresh = @fresh
        @fresh = false
        fresh
      end

      # Starts over: nothing of the incarnation before counts from here.
      # @param offset [Integer, nil] where the ledger begins; nil when the source tells
      def reincarnate(offset)
        @incarnation += 1
        @letters = 0
        @holds.release(:dead_letter) # the letter is dropped: nothing else would end the wait for it
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

      # No more admission; what runs may end, and its marks count.
      def leave!
        @recording&.left(:leave, self) unless @leaving
        @leaving = true
        @suspects&.leave
        @marks.leave!
      end

      # Nothing counts any more.
      def disown!
        @recording&.left(:lost, self) if @owned
        @leaving = true
        @owned = false
        @letters = 0
        @marks.disown!
      end

      # The stop's time is up: what was marked counts and may be committed, marks from here on answer false.
      def cut_off!
        take_marks
        @recording&.left(:cut_off, self)
        @leaving = true
        @marks.cut_off!
      end

      # The offset to commit, or nil when nothing is known.
      # @return [Integer, nil]
      def position = @ledger.committable

      # @return [Boolean] whether what is committed isn't what the next owner should know: the offset, what is complete beyond it,
      #   or attempts
      def uncommitted?
        return false unless @ledger.known?
        @ledger.committable != @committed || @ledger.version != @map_committed || [@attempts, *@suspects].any?(&:changed?)
      end

      # @param offset [Integer] acknowledged by the broker
      # @param version [Integer, nil] of the ledger, as the commit said it
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

      # @return [String] short: what it holds would fill pages
      def inspect = "#<#{self.class} #{@topic_name}/#{@partition} epoch #{@epoch}>"

      private

      def marked(unit, limit)
        through = unit.marks&.through || -1
        return if through.negative? || unit.incarnation != @incarnation
        through = limit - 1 if limit && limit <= through
        complete(unit.messages.to_a.take_while { |message| message.offset <= through })
        @division.done(unit) if through >= unit.messages.last_offset
      end

      # With nothing incomplete the base moves to the end: transactional topics end in markers that never reach us.
      def reach_end
        return unless @ledger.dry? && @end > @ledger.tail
        @ledger.admit(@ledger.tail, @end, [])
        align
      end
    end
  end
end
