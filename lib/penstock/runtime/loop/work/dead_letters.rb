# frozen_string_literal: true

require_relative "../../../consumer/transaction"
require_relative "../../../doubling"
require_relative "../../../errors"
require_relative "../../../processing/failure/effects"
require_relative "../../../processing/failure/oversized"
require_relative "pending_letter"

module Penstock
  module Runtime
    # Sends the letters of records that failed permanently, and settles a record once its letter is acknowledged: its offset
    # never moves before that. Runs on the poll loop's thread; it never blocks and never runs user code.
    #
    # A letter's states: waiting (until `due`) → sent (its handle is polled) → acknowledged: the record is settled and the letter
    # removed; or failed: an error is emitted, and the letter waits again with a longer back-off. In any state, the letter is
    # dropped when its lane is lost or begins a new incarnation, or when the connection is closed; an acknowledgement that comes
    # later is ignored: the record runs again where its partition is, and its letter may exist twice. Until it is removed or
    # dropped the lane isn't idle, so that a revocation and a stop wait for it as for a unit; but a letter that has failed before
    # is sent only once more then, at once, and dropped if it fails again.
    #
    # A letter that is refused for its size may only have been part of a batch that was too large: such letters are sent one at
    # a time, so that one doesn't make the others fail. A letter that is too large by itself is sent with less content where the
    # route allows it ({Processing::Failure::Oversized}); otherwise it is sent again like any other.
    #
    # Where the producer is transactional, a letter and its record's offset share a transaction: the commit completes the
    # record. While the outcome of such a transaction isn't known, the letter isn't sent again.
    class DeadLetters
      # Waits after a failed dispatch, and while the producer's queue is full.
      BACKOFF_MS = (500..30_000)
      FULL_MS = 100
      # Shortest and longest wait before a handle is checked again.
      CHECK_MS = (1..50)
      EVENTS = {dead_letter: "dead_letter_queue.dispatched", expired: "filtering.expired",
                retry: "retry_topic.dispatched"}.freeze

      HINT = "Do not close this producer while consumers send dead letters with it. Until this process is restarted " \
        "the record and those after it in its partition wait"
      private_constant :BACKOFF_MS, :FULL_MS, :CHECK_MS, :EVENTS, :HINT

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param ports [EffectContext] performs effects
      # @param loop_client [#claim, #end_claim] through which transactions of letters claim their lane's offset slot
      # @param watch [LetterWatch, nil] wakes the loop for acknowledgements; nil: the loop only looks for them
      def initialize(connection, committer, ports, loop_client = nil, watch: nil)
        @loop_client = loop_client
        @watch = watch
        @connection = connection
        @committer = committer
        @ports = ports
        @pending = []
        @any_alone = false
      end

      # @param lane [Processing::Lane]
      # @param request [Processing::Failure::LetterRequest]
      def add(lane, request)
        lane.letter_sent
        pending = PendingLetter.new(lane, request, @connection.now)
        emit_oversized(pending, request.letter.refusal) if request.letter.refusal
        @pending << pending
        @pending.pop unless advance(pending)
      end

      # @return [Integer, nil] monotonic ms of the next run
      def next_due = (@pending.map { |pending| pending.last_try? ? 0 : pending.due }.min unless @pending.empty?)

      # @return [Boolean] whether a letter was acknowledged or has failed since the last run
      def letters_done? = !@watch.nil? && @watch.done?

      # @return [Integer] letters that aren't acknowledged
      def size = @pending.size

      # Sends the letters that are due, and looks at the handles of those that were sent.
      def run
        news = @watch&.take_done # called even without letters: if it stayed set, all timers would run in every turn
        return if @pending.empty?
        now = @connection.now
        @any_alone &&= @pending.any?(&:alone?)
        @pending.select! { |pending| pending.counts? && (waits?(pending, now, news) || advance(pending)) }
      end

      # The connection ends: its letters are dropped.
      def close
        @watch&.close
        @pending.clear
      end

      private

      def waits?(pending, now, news) = pending.due > now && !pending.last_try? && !(news && pending.handle&.done?)

      # @return [Boolean] whether it is still pending
      def advance(pending)
        pending.handle ? check(pending) : offer(pending)
      rescue ProducerClosedError => error
        producer_closed(pending, error)
      rescue KafkaError, ForkedHandleError => error
        failed(pending, error)
      end

      def offer(pending)
        pending.last_tried = pending.lane.leaving?
        return check_later(pending, CHECK_MS.end) if @any_alone && pending.check_crowded(@pending)
        return offer_in_transaction(pending) if pending.in_transaction?
        sent(pending, pending.letter.producer.dispatch(pending.letter.dispatch))
      end

      def offer_in_transaction(pending)
        lane = pending.lane
        return check_later(pending, CHECK_MS.end) if lane.offset_slot.unknown?
        return acknowledged(pending) if lane.ledger.complete?(pending.letter.offset)
        sent(pending, pending.letter.producer.dispatch(pending.letter.dispatch, around: transaction(pending)))
      end

      # Called by the producer's thread.
      def transaction(pending)
        record = pending.letter.record
        transaction = Consumer::Transaction.new(pending.lane, @loop_client, pending.letter.producer, nil)
        lambda do |&send|
          transaction.call do
            transaction.mark_alone(record)
            send.call
          end
        end
      end

      def sent(pending, handle)
        pending.handle = handle
        return full(pending) unless pending.handle
        check_later(pending, CHECK_MS.begin)
      end

      def check(pending)
        return wait_for(pending) unless pending.handle.done?
        error = pending.handle.create_result.error
        error ? failed(pending, error) : acknowledged(pending)
      end

      # The thread waits for a letter only after its second check, so that letters of the same moment share a batch.
      def wait_for(pending)
        @watch&.add(pending.handle) if pending.wait_ms == CHECK_MS.begin
        check_later(pending, (pending.wait_ms * 5 / 4) + 1)
      end

      def check_later(pending, wait_ms)
        pending.wait_ms = [wait_ms, CHECK_MS.end].min
        pending.due = @connection.now + pending.wait_ms
        true
      end

      # Emitted once per letter: a full queue affects every letter.
      def full(pending)
        emit_failure(pending, QueueFullError.new, FULL_MS) unless pending.reported_full
        pending.reported_full = true
        return dropped(pending, QueueFullError.new) if pending.lane.leaving? && pending.failures.positive?
        pending.due = @connection.now + FULL_MS
        true
      end

      def failed(pending, error)
        return true if Processing::Failure::Oversized.refused?(error) && reduced?(pending, error)
        return true if misplaced?(pending, error)
        return dropped(pending, error) if pending.lane.leaving? && pending.failures.positive?
        wait_ms = Doubling.wait(BACKOFF_MS.begin, pending.failures, BACKOFF_MS.end)
        emit_failure(pending, error, wait_ms)
        pending.handle = nil
        pending.due = @connection.now + wait_ms
        pending.failures += 1
        true
      end

      # The record isn't complete: it runs again where its partition is next.
      # @return [false]
      def dropped(pending, error)
        emit_failure(pending, error, nil)
        pending.lane.letter_done
        false
      end

      # `enhance_dlq_message` has named a partition that doesn't exist.
      # @return [Boolean] whether it is sent again without it
      def misplaced?(pending, error)
        letter = pending.letter
        return false unless letter.dispatch.key?(:partition) && error.is_a?(KafkaError) && error.code == :unknown_partition
        emit_failure(pending, error, 0)
        elsewhere = letter.dispatch.except(:partition)
        pending.replace(Processing::Failure::Letter.new(**letter.to_h, dispatch: elsewhere), @connection.now)
        true
      end

      # The application's own producer is replaced; any other is its owner's responsibility.
      def producer_closed(pending, error)
        letter = pending.letter
        return failed(pending, error) unless letter.producer.closed? # its replacement isn't connected yet
        other = @loop_client&.producer_replacement(letter.producer)
        return failed(pending, ProducerClosedError.new("#{error.message}. #{HINT}")) unless other
        pending.replace(Processing::Failure::Letter.new(**letter.to_h, producer: other), @connection.now + BACKOFF_MS.begin)
        true
      end

      # @return [Boolean] whether it is sent again with less content
      def reduced?(pending, error)
        too_large = pending.count_refusal
        @any_alone ||= pending.alone?
        return false unless too_large && pending.letter.reference
        smaller = Processing::Failure::Oversized.smaller(pending.letter) or return false
        pending.replace(smaller, @connection.now)
        emit_oversized(pending, error)
        true
      end

      def acknowledged(pending)
        lane = pending.lane
        lane.letter_done
        now = @connection.now
        lane.recording&.acknowledged(pending.request, now)
        pending.request.acknowledged(lane).each { |effect| effect.perform(lane, @ports) }
        emit_sent(pending)
        pending.request.commit ? @committer.request_commit([lane]) : @committer.schedule_commit
        false
      end

      def emit_sent(pending)
        letter = pending.letter
        @connection.emit(EVENTS.fetch(letter.kind), {**place(pending), message: letter.record, to: letter.topic,
          error: letter.error, caller: letter.caller, **omitted(letter)})
      end

      def emit_oversized(pending, error)
        letter = pending.letter
        @connection.emit("error.occurred", {type: "dead_letter_queue.oversized.error", error: error, **place(pending),
                                         message: letter.record, to: letter.topic, caller: letter.caller, **omitted(letter)})
      end

      def omitted(letter) = {omitted: letter.omitted}.compact

      def emit_failure(pending, error, wait_ms)
        follows = wait_ms ? {retry_in_ms: wait_ms} : {next: :next_owner}
        @connection.emit("error.occurred", {type: "dead_letter_queue.dispatch.error", error: error, **place(pending),
                                         to: pending.letter.topic, failures: pending.failures + 1,
                                         caller: pending.letter.caller, **follows})
      end

      def place(pending)
        {topic: pending.lane.topic_name, partition: pending.lane.partition, offset: pending.letter.offset,
         attempt: pending.letter.attempt}
      end
    end
  end
end
