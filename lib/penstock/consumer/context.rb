# frozen_string_literal: true

require "monitor"
require_relative "../config/seconds"
require_relative "../errors"
require_relative "../on_demand"
require_relative "../query_time"
require_relative "errors_tracker"
require_relative "flow"
require_relative "marks"
require_relative "open_transactions"
require_relative "tags"
Penstock.load_constant :Messages

module Penstock
  class Consumer
    # Implements the methods of a {BaseConsumer}: knows the lane, the unit being run, and the connection to the poll loop. One
    # per lane; used by the worker that runs the unit and by threads that the user's code starts. The lock prevents a request
    # from getting lost between the end of a unit and the collection of its requests.
    class Context
      attr_reader :lane, :loop_client, :messages, :attempt, :tags
      attr_accessor :consumer

      # @return [Integer] failed calls of its consumer: records it was given before the last failure are redelivered
      attr_reader :failures

      # @param lane [Processing::Lane] only its names and marks are used here
      # @param loop_client [#commit, #request, #offset_at, #producer, #insights, #claim, #monitor] connection to the poll loop
      # @param monitor [Monitor] one for all instances of the lane
      def initialize(lane, loop_client, monitor = Monitor.new)
        @monitor = monitor
        @lane = lane
        @loop_client = loop_client
        @tags = Tags.new
        @messages = nil
        @attempt = 1
        @flow = @taken = nil
        @failures = 0
        @running = false
        @used = false
        @collapsed = @marked_only = false
        @transacted = false
        @eofed = false
        @comes_again = false
        @lock = Mutex.new
        @transactions = nil
      end

      # @return [ErrorsTracker]
      def errors = @errors ||= ErrorsTracker.new(@lane.topic_name, @lane.partition)

      # Called by the worker when a call has failed, before another can begin.
      def failed
        @comes_again = true
        @failures += 1
      end

      # Called by the worker when a unit has succeeded.
      # @return [nil]
      def succeeded = @errors&.clear

      def topic = @lane.topic
      def partition = @lane.partition
      def marks = @lane.marks
      def used? = @used
      def collapsed? = @collapsed

      # @return [Boolean] whether a transaction was begun since the worker called user code: its end decides about the records
      def transacted? = @transacted

      # @return [Transaction, nil] the one whose block the caller is in
      def current_transaction = @transactions&.current

      # Runs the block in a transaction, see {OpenTransactions#run}.
      def transaction(given, &block)
        transactions = @lock.synchronize { @transactions ||= OpenTransactions.new(self, @lane, @loop_client) }
        transactions.run(given, &block)
      end

      # A unit with a transaction can't simply continue. Under the lock, so that the unit can't end between the two steps, and in
      # this order.
      # @return [Processing::Unit, nil] the one that runs
      def begin_transaction
        @lock.synchronize { (@unit if @running).tap { @transacted = true } }
      end

      def eofed? = @eofed || (!@messages.nil? && @messages.at_end?)
      def producer = current_transaction&.producer || @producer || @loop_client.producer
      attr_writer :producer
      def insights = @loop_client.insights(@lane)

      # Runs the block for one instance of the lane at a time.
      def synchronize(&) = @monitor.synchronize(&)

      # Called by the worker before it calls user code.
      def begin_unit(unit)
        @unit = unit
        unit.consume? ? show(unit.messages) : show_last(unit)
        @attempt = unit.attempt
        @collapsed = unit.collapsed ? true : false
        @marked_only = false
        @flow = nil # no lock needed in this order: a request that arrives in between counts as one from outside
        @transacted = false # before any transaction of this unit can begin
        @running = true
        @used ||= unit.consume?
      end

      # Runs the block, the hook `initialized` of a new consumer, before the first use.
      def before_use
        @used = false
        yield
      ensure
        @used = @unit.consume?
      end

      # Called by the worker when user code has ended.
      # @return [Flow, nil] the flow requested meanwhile
      def take_flow
        @lock.synchronize do
          @running = false
          @taken, @flow = @flow || (Flow::MarkedOnly.new if @marked_only), nil
          @comes_again = true if repeats?(@taken)
          @taken
        end
      end

      # Called by the worker when it has combined what several instances have requested in a hook: a resume of each ends the wait.
      # @param flow [Flow] instead of the one that was taken
      def combined(flow)
        @lock.synchronize { @taken = flow unless @running }
      end

      # Of the records of this call only those that are marked are complete, as after a seek or a pause. A separate flag:
      # `resume` clears a pause that was requested later, and must not clear this.
      def complete_marked_only
        @lock.synchronize { @marked_only = true if @running }
      end

      # @param message [Message]
      # @param metadata [String, nil]
      # @return [Boolean] whether the partition is still ours, and no seek of this call drops the mark
      def mark(message, metadata = nil)
        check(message)
        metadata &&= checked(metadata)
        transaction = current_transaction
        return transaction.mark(message, metadata) if transaction
        OpenTransactions.check_outside(@lane, message) if marks.carried?
        flow = @flow # without the lock, once: another thread may request something else
        return false if flow.is_a?(Flow::Seek) && flow.drops?(message.offset)
        (message.mark_cell || marks).mark(message.offset, metadata)
      end

      # Marks and waits for the broker's acknowledgement; in a transaction that is its commit.
      # @return [Boolean] false when the partition is no longer ours
      def mark!(message, metadata = nil) = mark(message, metadata) && (current_transaction ? true : commit)

      # Commits what is marked and waits for the acknowledgement. Marks of the unit don't count if the lane began a new
      # incarnation meanwhile.
      # @return [Boolean]
      def commit = @unit ? @loop_client.commit(@lane, @unit.incarnation) : @loop_client.commit(@lane)

      # Commits without waiting.
      # @return [Boolean] whether the partition is still ours
      def commit_soon
        @loop_client.request(@lane, :commit)
        marks.owned?
      end

      # @param target [Integer, Time, :earliest, :latest]
      # @param reset_offset [Boolean] must be true
      # @raise [ArgumentError] for any other target
      # @raise [UnsupportedCaseError] without `reset_offset`
      def seek(target, reset_offset)
        Compat::Karafka::Consumer.refuse_kept_offset(target) unless reset_offset
        request Flow::Seek.new(resolve(target))
      end

      # @param offset [Integer, nil, :consecutive] where to continue
      # @param timeout_ms [Numeric, ActiveSupport::Duration, nil] nil: the route's `pause` timeout; infinite: until {#resume};
      #   at least 10
      # @raise [ArgumentError] for anything else: the poll loop uses it unchecked
      def pause(offset, timeout_ms)
        offset = nil if offset == :consecutive
        raise ArgumentError, "pause takes an offset or :consecutive, not #{offset.inspect}" unless offset.nil? || offset?(offset)
        wait_ms = whole_ms(timeout_ms || topic.pause.timeout)
        request Flow::Pause.new(offset, wait_ms && [wait_ms, SHORTEST_PAUSE_MS].max)
      end

      # @param metadata [String]
      # @return [Boolean] whether the partition is still ours
      def store_metadata(metadata) = marks.store_metadata(metadata && checked(metadata))

      # Takes effect immediately, independently of requests that the unit's outcome carries.
      # @param offset [Integer]
      # @return [nil]
      def collapse_until(offset)
        raise ArgumentError, "collapse_until! takes an offset, not #{offset.inspect}" unless offset.is_a?(Integer)
        @loop_client.request(@lane, Flow::Collapse.new(offset))
        nil
      end

      # @param timeout_ms [Numeric, ActiveSupport::Duration] from now
      # @return [Boolean] whether the partition is still ours
      def tick_in(timeout_ms)
        wait_ms = whole_ms(timeout_ms, "tick_in") || refuse_time(timeout_ms, "tick_in")
        return false unless marks.owned?
        earliest = @lane.tick_wish.add(@loop_client.clock.monotonic_ms + wait_ms)
        @loop_client.request(@lane, :tick) if earliest
        true
      end

      # Ends the wait of a pause that has not begun, too; where the partition continues stays as it was requested. A pause that
      # travels to the loop with its unit's outcome may arrive there after this request: it then ends immediately.
      def resume
        @lock.synchronize do
          @flow = resumed(@flow)
          @taken.timeout_ms = 0 if @taken&.pauses?
        end
        @loop_client.request(@lane, Flow::Resume.new)
      end

      private

      def show(messages)
        @messages = messages
        @eofed = @comes_again = false
      end

      # Hooks have the messages of the last call. If these come again they can't be marked here: a hook that marks the last
      # message would complete records that have failed.
      def show_last(unit)
        @messages ||= unit.messages
        @eofed = true if unit.action == :eofed
        return unless @comes_again
        @messages = @messages.again(UNMARKABLE)
        @comes_again = false
      end

      # Another thread may resume before the call that paused has returned. So only the wait ends: without the rest of the request
      # all records of the call would count as complete.
      # @return [Flow, nil] what is left of the request
      def resumed(flow)
        return flow unless flow&.pauses?
        return Flow::Seek.new(flow.target) if flow.is_a?(Flow::Seek)
        flow.pausing(0) if !@marked_only && (flow.offset || repeats?(flow))
      end

      # @return [Boolean] whether records of the unit run again after this request
      def repeats?(flow)
        return false unless flow.is_a?(Flow::Pause) && @unit.consume?
        !flow.offset.nil? || !topic.features[:parallel].nil?
      end

      # While a unit runs its outcome carries the request, so that it takes effect after the unit and nothing overtakes it.
      def request(flow)
        kept = @lock.synchronize { @running && @flow = flow.after(@flow) }
        @loop_client.request(@lane, flow) unless kept
        nil
      end

      def resolve(target)
        return target if target == :earliest || target == :latest || offset?(target)
        return offset_at(target) if target.is_a?(Time)
        raise ArgumentError, "seek takes an offset, a Time, :earliest or :latest, not #{target.inspect}"
      end

      def offset?(value) = value.is_a?(Integer) && OFFSETS.cover?(value)

      # @return [Integer, nil] nil: without an end
      # @param what [String] the method that was called, for messages
      # @return [Integer, nil] nil: infinite
      def whole_ms(timeout, what = PAUSE)
        # Active Support's Duration; it adds the method to numbers, too, where it means seconds.
        timeout = timeout.in_milliseconds if !(Numeric === timeout) && timeout.respond_to?(:in_milliseconds)
        return if timeout == Float::INFINITY
        refuse_time(timeout, what) unless timeout.is_a?(Numeric) && timeout.real? && timeout.finite?
        refuse_seconds(timeout, what) unless timeout.is_a?(Integer) || timeout <= 0 || timeout > Config::Seconds::SUSPECT
        timeout.ceil.clamp(0, LONGEST_PAUSE_MS) # a time that has passed
      end

      def refuse_time(timeout, what)
        raise ArgumentError, "#{what} takes a timeout in ms#{", or Float::INFINITY to wait for resume" if what == PAUSE}, " \
          "not #{timeout.inspect}"
      end

      # Nobody waits for 2.5 ms.
      def refuse_seconds(timeout, what)
        raise ArgumentError, "#{what} takes a timeout in ms, and #{timeout} looks like seconds: " \
          "write #{(timeout * 1_000).round} for #{timeout} s, or #{timeout.ceil} for that many ms"
      end

      def offset_at(time)
        @loop_client.offset_at(@lane, QueryTime.ms(time)) ||
          raise(InvalidTimeBasedOffsetError, "#{@lane.topic_name}/#{partition} has no record at or after #{time.inspect}; " \
                                             "seek to :latest to wait for the next one")
      end

      def check(message)
        raise ArgumentError, "a message can be marked, such as messages.last, not #{message.inspect[0, 80]}" unless
          message.respond_to?(:mark_cell)
        return if message.partition == partition && message.topic == @lane.topic_name
        raise ArgumentError, "#{message.uid} can't be marked by the consumer of #{@lane.topic_name}/#{partition}: " \
                             "a consumer marks records of its own partition"
      end

      # Returns a copy: changes that the caller makes later must not bypass the check.
      # @return [String]
      def checked(metadata)
        raise ArgumentError, "offset metadata is a String, not #{metadata.inspect[0, 80]}" unless metadata.is_a?(String)
        return metadata.dup.freeze if metadata.bytesize <= Marks::MAX_METADATA_BYTES
        raise ArgumentError, "offset metadata has #{metadata.bytesize} bytes, #{Marks::MAX_METADATA_BYTES} are allowed: " \
                             "the rest of the commit's metadata is Penstock's own"
      end

      # Valid offsets of a partition; the client uses negative numbers for "the end" and the like.
      OFFSETS = (0...(2**63 - 1))
      PAUSE = "pause"
      # As for filters: a consumer that pauses at an offset until a time that has passed isn't called all the time.
      SHORTEST_PAUSE_MS = 10
      LONGEST_PAUSE_MS = 365 * 86_400_000
      # Where messages are marked that come again: every mark returns false.
      UNMARKABLE = Marks.new.tap(&:end_ownership!)
      private_constant :OFFSETS, :SHORTEST_PAUSE_MS, :LONGEST_PAUSE_MS, :PAUSE, :UNMARKABLE
    end
  end
end
