# frozen_string_literal: true

require_relative "../consumer/transaction"
require_relative "../errors"
require_relative "../processing/failure/effects"
require_relative "../processing/failure/oversized"
require_relative "pending_letter"

module Penstock
  module Runtime
    # Sends what the workers made of records that failed for good, and settles a record when its letter is acknowledged: the
    # offset never moves before. Runs on the poll loop's thread; nothing in it waits, and user code isn't run again.
    #
    # A letter's states: waiting (until `due`) → sent (its handle is looked at) → acknowledged: settled, gone; or failed: told,
    # and waiting again with a longer back-off. What may interrupt it, in any state: its lane is lost, or begins a new
    # incarnation, or the connection is closed. Then it is dropped, and so is an acknowledgement that comes later: the record
    # runs again where its partition is, and its letter may exist twice. Until then its lane isn't idle, so that a revocation
    # and a stop wait for it as for a unit.
    #
    # What is refused for its size may only have lain in a batch that is too large: such letters are sent one at a time, so that
    # one of them says nothing of another. Where the route wants it, what is too large by itself goes with less
    # ({Processing::Failure::Oversized}); else it is sent again like any other.
    #
    # Where the producer has transactions the letter and its record's offset are one: the record is complete by the commit. While
    # the end of such a transaction isn't known the letter isn't sent again.
    class DeadLetters
      # Waits after a failed dispatch, and while the producer's queue is full.
      BACKOFF_MS = (500..30_000)
      FULL_MS = 100
      # How soon, and how late, a handle is looked at again.
      LOOK_MS = (1..50)

      WAY_OUT = "Whoever closed it must not as long as consumers send dead letters with it: until this process is started anew " \
        "the record, and what comes behind it, wait"
      private_constant :BACKOFF_MS, :FULL_MS, :LOOK_MS, :WAY_OUT

      # @param session [Session]
      # @param committer [Committer]
      # @param ports [Ports] what effects are performed with
      # @param link [#claim, #end_claim] where transactions of letters ask for their lane's offset slot
      # @param watch [LetterWatch, nil] wakes the loop for acknowledgements; nil: the loop only looks for them
      def initialize(session, committer, ports, link = nil, watch: nil)
        @link = link
        @watch = watch
        @session = session
        @committer = committer
        @ports = ports
        @pending = []
        @any_alone = false
      end

      # @param lane [Processing::Lane]
      # @param burial [Processing::Failure::Burial]
      def add(lane, burial)
        lane.letter_sent
        pending = PendingLetter.new(lane, burial, @session.now)
        tell_smaller(pending, burial.letter.refusal) if burial.letter.refusal
        @pending << pending
        @pending.pop unless advance(pending)
      end

      # @return [Integer, nil] monotonic ms at which to be run again
      def next_due = @pending.map(&:due).min

      # @return [Integer] letters that aren't acknowledged
      def size = @pending.size

      # Goes on with what is due.
      def run
        return if @pending.empty?
        now = @session.now
        @any_alone &&= @pending.any?(&:alone?)
        news = @watch&.take_news
        @pending.select! { |pending| pending.counts? && (waits?(pending, now, news) || advance(pending)) }
      end

      # The connection ends: nothing of it counts any more.
      def close
        @watch&.close
        @pending.clear
      end

      private

      def waits?(pending, now, news) = pending.due > now && !(news && pending.handle&.done?)

      # @return [Boolean] whether it is still pending
      def advance(pending)
        pending.handle ? look(pending) : offer(pending)
      rescue ProducerClosedError => error
        producer_closed(pending, error)
      rescue KafkaError, ForkedHandleError => error
        failed(pending, error)
      end

      def offer(pending)
        return look_again(pending, LOOK_MS.end) if @any_alone && pending.crowded_by?(@pending)
        return offer_together(pending) if pending.together?
        sent(pending, pending.letter.producer.dispatch(pending.letter.dispatch))
      end

      def offer_together(pending)
        lane = pending.lane
        return look_again(pending, LOOK_MS.end) if lane.offset_slot.unknown?
        return acknowledged(pending) if lane.ledger.complete?(pending.letter.offset)
        sent(pending, pending.letter.producer.dispatch(pending.letter.dispatch, around: transaction(pending)))
      end

      # Called by the producer's thread.
      def transaction(pending)
        record = pending.letter.record
        transaction = Consumer::Transaction.new(pending.lane, @link, pending.letter.producer, nil)
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
        @watch&.add(handle)
        look_again(pending, LOOK_MS.begin)
      end

      def look(pending)
        return look_again(pending, (pending.wait_ms * 5 / 4) + 1) unless pending.handle.done?
        error = pending.handle.create_result.error
        error ? failed(pending, error) : acknowledged(pending)
      end

      def look_again(pending, wait_ms)
        pending.wait_ms = [wait_ms, LOOK_MS.end].min
        pending.due = @session.now + pending.wait_ms
        true
      end

      # Told once a letter: a queue that is full is full for all.
      def full(pending)
        tell_failure(pending, QueueFullError.new) unless pending.told_full
        pending.told_full = true
        pending.due = @session.now + FULL_MS
        true
      end

      def failed(pending, error)
        return true if Processing::Failure::Oversized.refused?(error) && reduced?(pending, error)
        tell_failure(pending, error)
        pending.handle = nil
        pending.due = @session.now + [BACKOFF_MS.begin * (2**[pending.failures, 10].min), BACKOFF_MS.end].min
        pending.failures += 1
        true
      end

      # The application's own is replaced; what became of any other is its owner's affair.
      def producer_closed(pending, error)
        letter = pending.letter
        return failed(pending, error) unless letter.producer.closed? # another one that isn't connected yet
        other = @link&.producer_behind(letter.producer)
        return failed(pending, ProducerClosedError.new("#{error.message}. #{WAY_OUT}")) unless other
        pending.replace(Processing::Failure::Letter.new(**letter.to_h, producer: other), @session.now + BACKOFF_MS.begin)
        true
      end

      # @return [Boolean] whether it goes with less
      def reduced?(pending, error)
        too_large = pending.too_large?
        @any_alone ||= pending.alone?
        return false unless too_large && pending.letter.reference
        smaller = Processing::Failure::Oversized.smaller(pending.letter) or return false
        pending.replace(smaller, @session.now)
        tell_smaller(pending, error)
        true
      end

      def acknowledged(pending)
        lane = pending.lane
        lane.letter_done
        now = @session.now
        lane.recording&.acknowledged(pending.burial, now)
        pending.burial.acknowledged(lane).each { |effect| effect.perform(lane, @ports) }
        tell(pending)
        pending.burial.commit ? @committer.want([lane]) : @committer.moved
        false
      end

      def tell(pending)
        letter = pending.letter
        event = (letter.kind == :retry) ? "retry_topic.dispatched" : "dead_letter_queue.dispatched"
        @session.emit(event, {**place(pending), message: letter.record, to: letter.topic, error: letter.error,
                              caller: letter.caller, **omitted(letter)})
      end

      def tell_smaller(pending, error)
        letter = pending.letter
        @session.emit("error.occurred", {type: "dead_letter_queue.oversized.error", error: error, **place(pending),
                                         message: letter.record, to: letter.topic, caller: letter.caller, **omitted(letter)})
      end

      def omitted(letter) = {omitted: letter.omitted}.compact

      def tell_failure(pending, error)
        @session.emit("error.occurred", {type: "dead_letter_queue.dispatch.error", error: error, **place(pending),
                                         failures: pending.failures + 1, caller: pending.letter.caller})
      end

      def place(pending)
        {topic: pending.lane.topic_name, partition: pending.lane.partition, offset: pending.letter.offset,
         attempt: pending.letter.attempt}
      end
    end
  end
end
