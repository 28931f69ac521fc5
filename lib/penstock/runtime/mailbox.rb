# frozen_string_literal: true

require_relative "../consumer/answer"
require_relative "../consumer/claim"
require_relative "../processing/unit"

module Penstock
  module Runtime
    # What other threads tell a poll loop: outcomes of workers and requests of user code. Posting never blocks and wakes the loop;
    # only the loop reads.
    class Mailbox
      # A wish of user code outside of its unit. `flow` is a {Consumer::Flow} value or :commit.
      Request = Struct.new(:lane, :flow)

      # Wakes the loop; set by whoever owns the connection.
      # @return [#call]
      attr_writer :wake

      def initialize
        @lock = Mutex.new
        @filled = ConditionVariable.new
        @messages = []
        @wake = -> {}
        @calm = false
        @closed = false
      end

      # @param message [Processing::Outcome, Request, CommitWait, Consumer::Claim, Consumer::Claim::Word, Symbol]
      def post(message)
        verdict = @lock.synchronize do
          next :late if @closed
          @messages << message
          @filled.signal
          @calm && Processing::Outcome === message && message.smooth?
        end
        return dismiss(message) if verdict == :late
        @wake.call unless verdict
      end

      # While nothing waits for them, outcomes of units that went well needn't wake the loop: it reads them with what comes next.
      # @param calm [Boolean]
      # @return [Boolean] whether something is here that mustn't wait
      def calm?(calm)
        @lock.synchronize do
          @calm = calm
          !calm && !@messages.empty?
        end
      end

      # As {#post}, for an outcome that others will follow at once: the last of them wakes the loop. Without the lock, so it never
      # waits: adding to an Array is whole, and nobody minds an outcome in a mailbox that was closed meanwhile.
      # @param message [Processing::Outcome]
      def post_quietly(message)
        @messages << message unless @closed
      end

      # The loop looks at what was posted quietly.
      def wake_up = @wake.call

      # Nobody reads any more: who waits for an answer hears no.
      def close
        left = @lock.synchronize do
          @closed = true
          @messages.slice!(0..)
        end
        left.each { |message| dismiss(message) }
      end

      # @return [Boolean] whether nobody reads any more
      def closed? = @closed

      # @return [Object, nil] the oldest message
      def shift
        return if @messages.empty?
        @lock.synchronize { @messages.shift }
      end

      # @return [Array<Object>] everything that was posted, in order
      def take_all
        return [] if @messages.empty?
        @lock.synchronize { @messages.slice!(0..) }
      end

      # What was taken and not dealt with, because dealing with one before it failed.
      # @param messages [Array<Object>]
      def put_back(messages)
        @lock.synchronize { @messages.unshift(*messages) }
      end

      # Waits for a message; only while no connection is open, otherwise the loop waits in the driver.
      # @param timeout_ms [Integer]
      # @return [Object, nil]
      def wait(timeout_ms)
        @lock.synchronize do
          @filled.wait(@lock, timeout_ms / 1000.0) if @messages.empty?
          @messages.shift
        end
      end

      private

      def dismiss(message)
        case message
        when CommitWait then message.resolve(false)
        when Consumer::Claim then message.refuse
        end
      end
    end

    # A worker that waits for a commit's acknowledgement. The loop resolves it exactly once, also when the lane is lost or the
    # loop ends; the waiter gives up after `timeout_s` and then doesn't know. What was marked before its lane began anew was
    # dropped: no commit made since then is one of it.
    class CommitWait
      attr_reader :lane

      # @param lane [Processing::Lane]
      # @param incarnation [Integer] in which was marked what it waits for
      def initialize(lane, incarnation = lane.incarnation)
        @lane = lane
        @incarnation = incarnation
        @answer = Consumer::Answer.new
      end

      # @param answer [Boolean]
      def resolve(answer) = @answer.give(answer && @incarnation == @lane.incarnation)

      # @return [Boolean] false when the lane isn't ours any more, or began anew, or nothing came in time
      def wait(timeout_s) = @answer.wait(timeout_s) || false
    end
  end
end
