# frozen_string_literal: true

require_relative "../consumer/marks"
require_relative "attempts"
require_relative "backlog"
require_relative "holds"
require_relative "leader_epochs"
require_relative "ledger"
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
      # One unit runs, one waits behind it, so that a worker never has to wait for a turn of the loop.
      LOOK_AHEAD = 1
      # Units that end within a millisecond or so wait in greater numbers: a turn of the loop costs more than they do.
      QUICK_LOOK_AHEAD = 3
      QUICK_MS = 2

      attr_reader :topic, :topic_name, :partition, :epoch, :incarnation, :ledger, :backlog, :holds, :attempts, :leader_epochs
      attr_reader :marks, :source, :committed

      # @return [Object, nil] what the runtime keeps for the lane in its run queue
      attr_accessor :slot

      # @return [Boolean] whether the source may hold records
      attr_accessor :ready

      # @return [Hash, nil] offset metadata that was adopted from the committed offset
      attr_accessor :adopted_metadata

      # @param topic [Routing::Topic] the route
      # @param topic_name [String] name in Kafka (differs from the route's for patterns)
      # @param partition [Integer]
      # @param epoch [Integer] number of the assignment the lane came with
      # @param source [Object] what records are taken from
      def initialize(topic:, topic_name:, partition:, epoch:, source: nil)
        @topic = topic
        @topic_name = topic_name
        @partition = partition
        @epoch = epoch
        @source = source
        @incarnation = 0
        @ledger = Ledger.new
        @backlog = Backlog.new
        @holds = Holds.new
        @attempts = Attempts.new
        @leader_epochs = LeaderEpochs.new
        @marks = Consumer::Marks.new
        @owned = true
        @out = 0
        @ready = true
        @leaving = false
        @may_repeat = false
        @previous_from = nil
        @fresh = true
        @begin_at = nil
        @end = nil
        @look_ahead = LOOK_AHEAD
      end

      # @return [Integer] units that may wait behind the one that runs
      attr_reader :look_ahead

      # @param time_ms [Integer] what the last unit took
      def took_ms(time_ms)
        @look_ahead = (time_ms < QUICK_MS) ? QUICK_LOOK_AHEAD : LOOK_AHEAD
      end

      # @return [Array(String, Integer)] topic and partition
      def key = @key ||= [@topic_name, @partition].freeze

      def owned? = @owned
      def leaving? = @leaving
      def idle? = @out.zero?
      def in_flight = @out

      # The committed offset is known (nil: the group never committed here).
      # @param offset [Integer, nil]
      def adopt(offset)
        @ledger.reset(offset)
        @committed = offset
      end

      # Records that an earlier owner was retrying.
      # @param attempts [Hash{Integer => Integer}] failed attempts by offset
      # @param at_ms [Integer] monotonic ms at which they may run again
      def retry_adopted(attempts, at_ms)
        attempts.each { |offset, count| @attempts.restore(offset, count) }
        @backlog.isolate_through(attempts.keys.max)
        @holds.add(:retry, at_ms)
      end

      # @return [Boolean] whether a unit could be handed out now, records provided
      def open? = @holds.open? && !@leaving && owned? && @out <= @look_ahead

      # @return [Integer] records to take from the source now, 0 for none
      def wanted = (open? && @ready && @backlog.empty?) ? @topic.max_messages : 0

      # @return [Boolean]
      def waiting? = open? && !@backlog.empty?

      # @return [Unit, nil] the next piece of work
      def next_unit
        return unless waiting?
        messages, upto = @backlog.cut(@topic.max_messages)
        @out += 1
        attempt = @attempts.of(messages.first_offset) + 1
        Unit.new(self, :consume, messages, upto, attempt, @incarnation)
      end

      # @param action [Symbol] a hook, or :eofed
      # @return [Unit] counted like any other until {#returned}
      def action_unit(action, messages)
        @out += 1
        Unit.new(self, action, messages, nil, 1, @incarnation)
      end

      # A unit came back, run or not.
      def returned
        @out -= 1
      end

      # Units that were handed out and never started come back, in order.
      # @param units [Array<Unit>]
      def take_back(units)
        units.reverse_each do |unit|
          returned
          @backlog.put_back(unit.messages) if unit.consume? && unit.incarnation == @incarnation
        end
      end

      # Everything below +offset+ is complete.
      def complete_through(offset)
        return unless @ledger.complete_through(offset)
        @attempts.complete_through(@ledger.base)
        reach_end if @end
      end

      # Reads the user's marks.
      # @param limit [Integer, nil] marks count only below it (a seek's target)
      def take_marks(limit = nil)
        through = [@marks.through, limit].compact.min
        complete_through(through) if through >= 0
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

      # The source's cursor stands where the next take must begin: after repeats were dropped, or the end moved the tail.
      def align
        @source.cursor = @ledger.tail if @source && @ledger.known?
      end

      # Starts over: nothing of the incarnation before counts from here.
      # @param offset [Integer, nil] where the ledger begins; nil when the source tells
      def reincarnate(offset)
        @incarnation += 1
        @ledger.reset(offset)
        @backlog.clear
        @attempts = Attempts.new
        @leader_epochs.clear
        @previous_from = nil
        @fresh = false
        @end = nil
        @marks.disown!
        @marks = Consumer::Marks.new
        @ready = true
      end

      # No more admission; what runs may end, and its marks count.
      def leave!
        @leaving = true
        @marks.leave!
      end

      # Nothing counts any more.
      def disown!
        @leaving = true
        @owned = false
        @marks.disown!
      end

      # The stop's time is up: what was marked counts and may be committed, marks from here on answer false.
      def cut_off!
        take_marks
        @leaving = true
        @marks.disown!
      end

      # The offset to commit, or nil when nothing is known.
      # @return [Integer, nil]
      def position = @ledger.base

      # @return [Boolean] whether what is committed isn't what the next owner should know: the offset, or attempts
      def uncommitted? = @ledger.known? && (@ledger.base != @committed || @attempts.changed?)

      # @param offset [Integer] acknowledged by the broker
      def committed!(offset)
        @committed = offset
      end

      # @return [Hash] for dumps and `info`: plain values only
      def snapshot
        {topic: @topic_name, partition: @partition, epoch: @epoch, incarnation: @incarnation, base: @ledger.base,
         tail: @ledger.tail, committed: @committed, in_flight: @out, backlog: @backlog.size, holds: @holds.to_h,
         ready: @ready, leaving: @leaving, owned: owned?, attempts: @attempts.to_h}
      end

      private

      # With nothing incomplete the base moves to the end: transactional topics end in markers that never reach us.
      def reach_end
        return unless @ledger.dry? && @backlog.empty? && @end > @ledger.tail
        @ledger.admit(@ledger.tail, @end)
        @ledger.complete_through(@end)
        align
      end
    end
  end
end
