# frozen_string_literal: true

require_relative "../consumer/marks"
require_relative "attempts"
require_relative "awaited_seek"
require_relative "commit_state"
require_relative "division/in_order"
require_relative "holds"
require_relative "intake"
require_relative "leader_epochs"
require_relative "ledger"
require_relative "offset_slot"
require_relative "probing"
require_relative "redelivery"
require_relative "takes"
require_relative "tick_wish"
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
      attr_reader :topic, :topic_name, :partition, :epoch, :incarnation

      # Its parts, each with state of its own.
      attr_reader :ledger, :division, :intake, :holds, :attempts, :leader_epochs, :marks, :takes, :redelivery, :probing,
        :offset_slot, :commit_state, :awaited_seek

      # The user's filters and partitioner, called by workers only ({Admission::Prepare}), and the built-in admission steps
      # ({Admission::Pipeline}). Both may be nil.
      attr_reader :prepare, :pipeline

      # @return [Failure::CrashCounts, nil] finds records that may have killed the process
      attr_reader :suspects

      # @return [Failure::Breaker, Runtime::SharedBreaker, nil] the topic's; nil where the route has none
      attr_reader :breaker

      # @return [Recording::Track, nil] records what happens to the lane
      attr_accessor :recording

      # @return [Runtime::LaneAssignment] the part that its poll loop needs; nothing in `processing/` uses it
      attr_accessor :assignment

      # @return [TickWish] when user code wants `tick` to be called
      attr_reader :tick_wish

      # @return [Integer, nil] end of the partition's log when records were last taken
      def log_end = @takes.log_end

      # @param topic [Routing::Topic] the route
      # @param topic_name [String] name in Kafka (differs from the route's for patterns)
      # @param partition [Integer]
      # @param epoch [Integer] number of the assignment
      # @param source [#cursor=, nil] records are taken from it
      # @param division [Division::InOrder, Division::ByKey] cuts buffered records into units
      # @param prepare [Admission::Prepare, nil]
      # @param pipeline [Admission::Pipeline, nil]
      # @param suspects [Failure::CrashCounts, nil]
      # @param breaker [Failure::Breaker, Runtime::SharedBreaker, nil]
      def initialize(topic:, topic_name:, partition:, epoch:, source: nil, division: Division::InOrder.new(topic.max_messages),
        prepare: nil, pipeline: nil, suspects: nil, breaker: nil)
        @topic = topic
        @topic_name = topic_name
        @partition = partition
        @epoch = epoch
        @division = division
        @by_key = division.by_key?
        @prepare = prepare
        @pipeline = pipeline
        @suspects = suspects
        @breaker = breaker
        @incarnation = @out = @letters = 0
        @owned = true
        @leaving = false
        @marks = Consumer::Marks.for(topic)
        create_parts(source)
      end

      # @return [Array(String, Integer)] topic and partition
      def key = @key ||= [@topic_name, @partition].freeze

      def owned? = @owned
      def leaving? = @leaving

      # @return [Boolean] whether none of its units runs, and no dead letter is on its way
      def idle? = @out == 0 && @letters == 0

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
        @takes.start.confirm unless offset
        @commit_state.committed(offset)
      end

      # Restores records that an earlier owner was retrying.
      # @param attempts [Hash{Integer => Integer}] failed attempts by offset
      # @param at_ms [Integer] monotonic ms at which they may run again
      def retry_adopted(attempts, at_ms)
        @attempts.adopt(attempts, (at_ms if by_key?))
        return if by_key?
        @division.isolate(nil, attempts.keys.max)
        @holds.add(:retry, at_ms)
      end

      # @return [Boolean] whether units of several keys run in parallel
      def by_key? = @by_key

      # @return [Boolean] whether a unit could be handed out now, if there are records
      def open? = @holds.open? && !@leaving && @owned

      # Checked after every turn for each lane that had something to do: the reasons that are most frequent come first.
      # @return [Boolean] whether the loop has nothing to do for it until its source has records or something else happens: no
      #   records, no units, no hold, no marks to wait for
      def inactive?
        idle? && !@takes.ready && @ledger.dry? && @holds.open? && @intake.empty? && @division.empty? && !@awaited_seek.limit &&
          @division.next_due.nil? && !@takes.end_again? && (@suspects.nil? || !(@suspects.held? || @suspects.announced?))
      end

      # @return [Integer] records to take from the source now, 0 for none
      def wanted
        return 0 unless @takes.ready && @probing.admits? && @intake.room?
        wanted = @division.wanted(self)
        return wanted unless by_key? && wanted.positive? && @commit_state.metadata_nearly_full?
        # If a former owner left that many completed offsets, nothing would ever be taken again without this.
        @ledger.incomplete.zero? ? [wanted, @topic.max_messages].min : 0
      end

      # @return [Boolean]
      def waiting? = open? && @division.waiting?

      # @return [Unit, nil] the next unit to run
      def next_unit
        return unless waiting?
        @division.next_unit(self)&.tap { @out += 1 }
      end

      # @return [Unit] of one record, to probe with although the topic's breaker is open
      def probe
        @out += 1
        @probing.cut
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
        @probing.returned(unit)
        return @division.returned(unit) if unit.consume?
        @holds.release(:instances)
      end

      # Puts back units that were handed out and never started, in order.
      # @param units [Array<Unit>]
      def put_back(units)
        @suspects&.returned(units)
        units.each { |unit| returned(unit) }
        units.each { |unit| put_back_unprepared(unit) if unit.prepare? && unit.incarnation == @incarnation }
        @tick_wish.add(0) if units.any?(&:wished)
        @takes.repeat_end if units.any? { |unit| unit.action == :eofed && unit.incarnation == @incarnation }
        @division.put_back(units.select { |unit| unit.consume? && unit.incarnation == @incarnation })
        units.each { |unit| @redelivery.settled(unit) }
      end

      # Admits records to units, after all earlier ones.
      # @param messages [Messages]
      # @param keys [Array<Object>, nil]
      def admit(messages, keys = nil) = @division.push(in_current_cell(messages), keys, self)

      # Everything below +offset+ is complete.
      def complete_through(offset)
        return unless @ledger.complete_through(offset)
        @division.leave_out_below(@ledger.base) unless by_key?
        @attempts.complete_through(@ledger.base)
        @takes.reach_end if @takes.end_offset
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
        @takes.reach_end if @takes.end_offset
      end

      # Completes records that go into no unit: filtered, or expired.
      # @param offsets [Array<Integer>]
      def drop(offsets)
        return if offsets.empty?
        @ledger.complete_many(offsets)
        offsets.each { |offset| @attempts.forget(offset) }
        @takes.reach_end if @takes.end_offset
      end

      # Reads the user's marks.
      # @param limit [Integer, nil] marks count only below it (a seek's target)
      # @param unit [Unit, nil] where keys run in parallel: only the marks of this unit
      def take_marks(limit = nil, unit = nil)
        return unit ? marked(unit, limit) : @division.each_mark(@ledger.base || 0) { |each| marked(each, limit) } if by_key?
        through = limit ? [@marks.through, limit].min : @marks.through
        complete_through(through) if through >= 0
      end

      # Replaces the cell in which marks are made, because records are redelivered. Closing the present cell and reading it are
      # one step, so that every mark for which it returned true counts.
      def renew_marks
        fresh = @marks.renew
        @recording&.marks
        take_marks
        @marks = fresh
      end

      # Begins a new incarnation: nothing of the previous one counts from here.
      # @param offset [Integer, nil] where the ledger begins; nil when the source decides
      def reincarnate(offset)
        @incarnation += 1
        @letters = 0
        @awaited_seek.clear
        @holds.release(:dead_letter) # the letter is dropped: nothing else would end this hold
        @ledger.reset(offset)
        @division.clear
        @intake.clear
        @redelivery.clear
        @pipeline&.reset
        @suspects&.clear
        @attempts.clear
        @probing.clear
        @leader_epochs.clear
        @takes.clear
        @marks.end_ownership!
        @marks = Consumer::Marks.for(topic)
        @recording&.started_over(offset)
      end

      # Begins a new incarnation at the group's committed offset. The source may still repeat records from the start of the last
      # take: for the source, the application is at that position until something was taken again.
      # @param offset [Integer]
      # @yieldreturn [Array<Array(Integer, Integer)>] complete runs beyond it; called when the previous incarnation has ended
      # @return [Array<Array(Integer, Integer)>]
      def reopen(offset)
        last_start = @takes.last_start
        reincarnate(offset)
        completed = yield
        adopt(offset, completed)
        @takes.last_start = last_start
        @takes.may_repeat!
        completed
      end

      # Continues at a filter's offset. The state of records from there on is kept, also a former owner's: they were not
      # admitted, so no consumer expects them again. Only a seek backwards resets it. With manual offsets only that case gets
      # here, because buffered records stay buffered ({Settlement::Prepared}).
      # @param offset [Integer]
      # @param now [Integer] monotonic ms
      def continue_at(offset, now)
        return reincarnate(offset) if offset < @ledger.base || topic.manual_offset_management?
        completed = @ledger.ranges
        attempts = @attempts.to_h.select { |failed, _count| failed >= offset }
        keep_suspects { reincarnate(offset) }
        @ledger.restore(completed)
        retry_adopted(attempts, @attempts.adopted_until || now) if attempts.any?
        @recording&.adopted(offset, @ledger.ranges)
      end

      # Stops admission; running units may end, and their marks count.
      def leave!
        @recording&.state_changed(:leave, self) unless @leaving
        @leaving = true
        @suspects&.leave
        @marks.leave!
      end

      # Ends the ownership: marks and outcomes of the lane don't count any more.
      def end_ownership!
        @recording&.state_changed(:lost, self) if @owned
        @leaving = true
        @owned = false
        @letters = 0
        @marks.end_ownership!
      end

      # Called when the time for the stop is up: marks made before count and may be committed, later ones return false.
      def cut_off!
        take_marks
        @recording&.state_changed(:cut_off, self)
        @leaving = true
        @marks.cut_off!
      end

      # The offset to commit, or nil when the position is unknown.
      # @return [Integer, nil]
      def committable_offset = @ledger.committable

      # @return [String, nil] the user's metadata that were adopted with the committed offset
      def adopted_metadata = @commit_state.adopted_metadata

      # @return [Hash] for dumps and `info`: plain values only
      def snapshot
        {topic: @topic_name, partition: @partition, epoch: @epoch, incarnation: @incarnation, base: @ledger.base,
         tail: @ledger.tail, committed: @commit_state.offset, in_flight: @out, incomplete: @ledger.incomplete,
         intake: @intake.size, intake_waits: @intake.reason,
         **@division.to_h, holds: @holds.to_h, ready: @takes.ready, leaving: @leaving, owned: owned?, attempts: @attempts.to_h,
         suspects: @suspects.to_h}
      end

      # @return [String] short: the contents would fill pages
      def inspect = "#<#{self.class} #{@topic_name}/#{@partition} epoch #{@epoch}>"

      private

      def create_parts(source)
        @ledger = Ledger.new
        @intake = Intake.new
        @holds = Holds.new
        @attempts = Attempts.new
        @leader_epochs = LeaderEpochs.new
        @offset_slot = OffsetSlot.new
        @tick_wish = TickWish.new
        @redelivery = Redelivery.new(self)
        @takes = Takes.new(@ledger, @redelivery, source)
        @probing = Probing.new(self)
        @commit_state = CommitState.new(self)
        @awaited_seek = AwaitedSeek.new(self)
      end

      def marked(unit, limit)
        through = unit.marks&.through || -1
        return if through.negative? || unit.incarnation != @incarnation
        through = limit - 1 if limit && limit <= through
        complete(unit.messages.to_a.take_while { |message| message.offset <= through })
        @division.done(unit) if through >= unit.messages.last_offset
      end

      # Puts back records that were to be passed to filters and partitioner.
      def put_back_unprepared(unit)
        @intake.preparing = false
        @intake.put_back(unit.messages)
      end

      # Makes records that were taken before an error be marked in the same cell as redelivered ones.
      def in_current_cell(messages)
        return messages if !topic.manual_offset_management? || by_key? || messages.marked_in?(@marks)
        messages.again(@marks)
      end

      # Keeps the suspects during the block: a filter that seeks in each assignment mustn't protect a later record that kills the
      # process.
      def keep_suspects
        suspects, @suspects = @suspects, nil
        yield
      ensure
        @suspects = suspects
      end
    end
  end
end
