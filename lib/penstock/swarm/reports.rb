# frozen_string_literal: true

require_relative "frame"

module Penstock
  module Swarm
    # Sends a node's reports to its supervisor. Never waits: a report that doesn't fit into a full pipe is dropped, for the next
    # one has the same content. Any thread; a frame is written by one system call.
    class Reports
      LONGEST_REASON = 500
      private_constant :LONGEST_REASON

      # @param pipe [IO]
      def initialize(pipe)
        @pipe = pipe
      end

      def ready(facts) = send_message(Message::Ready.new(facts))
      def healthy(facts) = send_message(Message::Healthy.new(facts))
      def unhealthy(reason, facts) = send_message(Message::Unhealthy.new(Frame.text(reason, LONGEST_REASON), facts))
      def stopping(within_ms) = send_message(Message::Stopping.new(within_ms))
      def stopped(code) = send_message(Message::Stopped.new(code))

      def close = @pipe.close

      private

      # @return [Boolean] whether it was written
      def send_message(message)
        bytes = encode(message)
        @pipe.write_nonblock(bytes, exception: false) == bytes.bytesize
      rescue SystemCallError, IOError # the supervisor is gone: the death pipe shows it
        false
      end

      # Rows are what makes a report long: one for each loop, and for each open breaker.
      def encode(message)
        Frame.encode(message)
      rescue ArgumentError
        message.facts = message.facts.except(:loops, :breakers)
        Frame.encode(message)
      end
    end
  end
end
