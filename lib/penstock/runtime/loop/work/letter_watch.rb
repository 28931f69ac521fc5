# frozen_string_literal: true

module Penstock
  module Runtime
    # Waits for the acknowledgements of dead letters on a thread of its own and wakes the poll loop after each, so that a lane
    # needn't wait for the loop's next check. During its first wait for a letter, the letter's producer sends without lingering.
    # Later waits don't change that: the letter has been sent by then, unless its broker is unreachable, which may take hours in
    # which the application's other messages mustn't be sent one by one.
    #
    # One for each connection, owned by its poll loop. The thread starts with the first letter and ends soon after {#close}. Its
    # only result is {#take_done}: the loop checks the handles itself, so where no thread can be started it only notices an
    # acknowledgement later.
    class LetterWatch
      # Longest wait for one handle, before the next one's turn.
      WAIT_MS = 50
      private_constant :WAIT_MS

      # @param threads [Threads]
      # @param mailbox [Mailbox]
      def initialize(threads, mailbox)
        @threads = threads
        @mailbox = mailbox
        @handles = Queue.new
        @done = false
      end

      # A letter was handed to its producer. Those that are sent by another thread, in a transaction, are not waited for.
      # @param handle [#wait_urgently, Object]
      def add(handle)
        @handles << [handle, true] if handle.respond_to?(:wait_urgently) && start
      end

      # @return [Boolean] whether a letter was acknowledged or has failed since the last call
      def take_done
        return false unless @done
        @done = false
        true
      end

      # @return [Boolean] whether {#take_done} would return true
      def done? = @done

      # The connection ends.
      def close = @handles.close

      private

      # @return [Boolean] whether there is a thread now
      def start
        @thread = @threads.start("penstock letters") { watch } unless @thread&.alive?
        true
      rescue ThreadError
        false
      end

      def watch
        while (handle, urgent = @handles.pop)
          await(handle, urgent) ? report : @handles << [handle, false]
        end
      rescue ClosedQueueError
        nil
      end

      # A handle that can't be waited for any more, because its client is closed, counts as done too: the loop finds out what
      # happened.
      # @return [Boolean] whether the loop must check the handle
      def await(handle, urgent)
        urgent ? handle.wait_urgently(WAIT_MS) : handle.await(WAIT_MS)
      rescue
        true
      end

      def report
        @done = true
        @mailbox.wake_up
      end
    end
  end
end
