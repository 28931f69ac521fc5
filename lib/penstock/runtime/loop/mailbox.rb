# frozen_string_literal: true

require_relative "../../consumer/answer"
require_relative "../../consumer/claim"
require_relative "../../processing/unit"

module Penstock
  module Runtime
    # Queues what other threads send to a poll loop: outcomes of workers and requests of user code. Posting never blocks and
    # wakes the loop; only the loop reads.
    class Mailbox
      # A request of user code outside of its unit. `flow` is a {Consumer::Flow} value or :commit.
      Request = Struct.new(:lane, :flow)

      # Wakes the loop; set by the owner of the connection.
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

      # @param message [Processing::Outcome, Request, CommitWait, Consumer::Claim, Consumer::Claim::TransactionEnd, Symbol]
      def post(message)
        verdict = @lock.synchronize do
          next :late if @closed
          @messages << message
          @filled.signal
          @calm && calm?(message)
        end
        return dismiss(message) if verdict == :late
        @wake.call unless verdict
      end

      # Begins a wait of the loop. While nothing waits for them, or workers have enough units, outcomes of successful units don't
      # wake the loop: it reads them with the next message. Other messages may be there already, from before {#wake=} was set.
      # @param calm [Boolean] whether that is so
      # @return [Boolean] whether there is a message for which the loop must not wait
      def begin_wait(calm)
        @lock.synchronize do
          @calm = calm
          calm ? !@messages.all? { |message| calm?(message) } : !@messages.empty?
        end
      end

      # Like {#post}, for an outcome that others follow at once: the last of them wakes the loop. Takes no lock, so it never
      # waits: appending to an Array is atomic, and an outcome in a mailbox that was closed meanwhile does no harm.
      # @param message [Processing::Outcome]
      def post_quietly(message)
        @messages << message unless @closed
      end

      # Makes the loop read what was posted quietly, also while it has no connection.
      def wake_up
        @lock.synchronize { @filled.signal }
        @wake.call
      end

      # Called when nothing is read any more: threads waiting for an answer get false.
      def close
        left = @lock.synchronize do
          @closed = true
          @messages.slice!(0..)
        end
        left.each { |message| dismiss(message) }
      end

      # @return [Boolean] whether nothing is read any more
      def closed? = @closed

      # @return [Boolean] whether nothing was posted since it was read
      def empty? = @messages.empty?

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

      # Returns messages that were taken and not handled, because handling an earlier one failed.
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

      # @return [Boolean] whether it needn't wake a loop in which nothing waits for the end of a unit
      def calm?(message) = Processing::Outcome === message && !message.stalls?

      def dismiss(message)
        case message
        when CommitWait then message.resolve(false)
        when Consumer::Claim then message.refuse
        end
      end
    end

    # A worker's wait for the acknowledgement of a commit. The loop resolves it exactly once, also when the lane is lost or the
    # loop ends; the worker stops waiting after `timeout_s`, the outcome then being unknown. Marks from before the lane's
    # current incarnation were dropped: no later commit contains them.
    class CommitWait
      attr_reader :lane

      # @param lane [Processing::Lane]
      # @param incarnation [Integer] in which the marks were made
      def initialize(lane, incarnation = lane.incarnation)
        @lane = lane
        @incarnation = incarnation
        @answer = Consumer::Answer.new
      end

      # @param answer [Boolean]
      def resolve(answer) = @answer.give(answer && @incarnation == @lane.incarnation)

      # @return [Boolean] false when the lane isn't ours any more, or has a new incarnation, or no answer came in time
      def wait(timeout_s) = @answer.wait(timeout_s) || false
    end
  end
end
