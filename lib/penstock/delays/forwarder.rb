# frozen_string_literal: true

require_relative "../errors"
require_relative "delayed_message"
require_relative "refusals"

module Penstock
  module Delays
    # Produces the messages of a delay topic's records, and remembers what became of them: a record whose message is with the
    # producer or the broker already isn't produced a second time when its call is repeated.
    #
    # One per consumer, called by the worker that runs it. Its memory is that of the records that aren't complete.
    class Forwarder
      # How long a call waits for acknowledgements.
      WAIT_MS = 2_000
      # How long a message waits that its target has refused, and how often.
      SET_BACK_MS = 30_000
      MOST_FAILURES = 20
      private_constant :MOST_FAILURES, :SET_BACK_MS, :WAIT_MS

      # A record whose message was produced: its `handle`, or the `error` instead of one. `alone`: it was the only message of
      # its call; `to`: the topic it was produced to; `delayed`: nil for a damaged record; `done`: set back, or dead-lettered.
      Sent = Struct.new(:delayed, :handle, :error, :alone, :to, :done, keyword_init: true) do
        # @return [Exception, nil]
        def failure = error || handle.create_result&.error
        def delivered? = error.nil? && handle.done? && handle.create_result.error.nil?
        def target? = to == delayed.topic
      end
      private_constant :Sent

      # @return [Hash{Symbol => Integer}] delivered messages since the last {#forward}: `arrived`, `moved`, `set_back`
      attr_reader :counts

      # @param tiers [Routing::DelayTiers]
      # @param clock [HopClock]
      def initialize(tiers, clock)
        @tiers = tiers
        @clock = clock
        @sent = {}
        @counts = {}
      end

      # Moves records on, in their order, until one can't be moved.
      # @param messages [Messages] of a delay topic
      # @param producer [Producer]
      # @yieldparam message [Message] a record that can never be moved; returns once its dead letter was acknowledged
      # @yieldparam reason [DelayError]
      # @return [Array(Message, Exception)] the last record that is complete, or nil; why the one after it isn't, or nil
      def forward(messages, producer, &dead_letter)
        @counts = Hash.new(0)
        @producer = producer.with(max_wait_timeout: WAIT_MS)
        forget(messages)
        produce_all(messages)
        last = nil
        messages.each do |message|
          reason = settle(message, &dead_letter) and return [last, reason]
          last = message
        end
        [last, nil]
      end

      # The records up to this one are complete.
      # @param message [Message]
      def complete(message)
        @sent.delete_if { |(offset, _time, _id), _sent| offset <= message.offset }
      end

      private

      # A topic that was deleted and created again uses the same offsets.
      def identity(message) = [message.offset, message.timestamp_ms, DelayedMessage.id_of(message)]

      def forget(messages)
        first = messages.first_offset
        @sent.delete_if { |(offset, _time, _id), _sent| offset < first }
      end

      # In one call, except those that may not be produced together.
      def produce_all(messages)
        batch = messages.filter_map do |message|
          place = identity(message)
          next if @sent.key?(place)
          delayed = read(message, place) or next
          [place, delayed, outgoing(delayed)]
        end
        unknown, known = batch.partition { |_place, delayed, message| missing?(delayed, message) }
        unknown.each { |place, delayed, message| refuse(place, delayed, message, Refusals.missing(delayed.topic)) }
        produce(known) unless known.empty?
      end

      def read(message, place)
        DelayedMessage.read(message)
      rescue DelayError => error
        @sent[place] = Sent.new(error: error)
        nil
      end

      def outgoing(delayed)
        left = @clock.left_ms(delayed.until_ms)
        left.positive? ? delayed.waiting(left, @tiers, @clock.wall_ms) : delayed.arriving
      end

      # Asked first, because the client keeps a message for an unknown topic for 30 s, and the records after it would wait.
      def missing?(delayed, message)
        message[:topic] == delayed.topic && @producer.missing?(delayed.topic)
      end

      def refuse(place, delayed, message, error)
        @sent[place] = Sent.new(delayed: delayed, error: error, alone: true, to: message[:topic])
      end

      def produce(batch)
        handles = @producer.produce_many_sync(batch.map(&:last))
        keep(batch, handles)
      rescue MessageInvalidError => error
        return refuse(*batch.first, error) if batch.one?

        batch.each { |entry| produce([entry]) }
      rescue ProduceManyError => error
        keep(batch, error.dispatched)
        rejected(batch, error) if error.dispatched.size < batch.size
      end

      def keep(batch, handles)
        batch.zip(handles).each do |(place, delayed, message), handle|
          @sent[place] = Sent.new(delayed: delayed, handle: handle, alone: batch.one?, to: message[:topic]) if handle
        end
      end

      # The client has not accepted the message after the last accepted one, nor those after it.
      def rejected(batch, error)
        place, delayed, message = batch[error.dispatched.size]
        @sent[place] = Sent.new(delayed: delayed, error: error.cause || error, alone: batch.one?, to: message[:topic])
      end

      # @return [Exception, nil] why the record isn't complete
      def settle(message, &dead_letter)
        place = identity(message)
        sent = @sent[place]
        return DelayError.new("the producer has not accepted the message yet") unless sent
        return if sent.done
        return dead_lettered(place, message, sent.error, &dead_letter) unless sent.delayed
        return count(sent) if sent.delivered?

        failure = sent.failure or return unanswered(sent)
        resolve(place, message, sent, failure, &dead_letter)
      end

      def count(sent)
        @counts[sent.target? ? :arrived : :moved] += 1
        nil
      end

      def unanswered(sent)
        DelayError.new("the broker has not acknowledged the message for #{sent.to} yet")
      end

      # A batch may be refused because of one message, so that each is tried alone before it counts as refused.
      def resolve(place, message, sent, failure, &dead_letter)
        permanent = Refusals.permanent?(failure, target: sent.target?)
        return refused(place, message, sent, failure, &dead_letter) if permanent && sent.alone

        @sent.delete(place)
        return failure unless permanent

        produce([[place, sent.delayed, outgoing(sent.delayed)]])
        settle(message, &dead_letter)
      end

      # The target doesn't take it, or no topic does.
      def refused(place, message, sent, failure, &dead_letter)
        reason = Refusals.reason(sent.to, failure)
        return dead_lettered(place, message, reason, &dead_letter) if sent.delayed.failures >= MOST_FAILURES || !sent.target?

        @producer.produce_sync(sent.delayed.set_back(SET_BACK_MS, @tiers, @clock.wall_ms))
        done(place, :set_back)
      rescue ProduceError, MessageInvalidError => error
        return dead_lettered(place, message, reason, &dead_letter) if Refusals.size?(error)

        @sent.delete(place) # its target may exist by then
        error
      end

      def dead_lettered(place, message, reason)
        yield message, reason
        done(place, :dead_lettered)
      rescue ProduceError, MessageInvalidError => error
        error
      end

      # A record that is complete, but not the last of its call, must not be handled again.
      def done(place, kind)
        @sent[place] = Sent.new(done: true)
        @counts[kind] += 1
        nil
      end
    end
  end
end
