# frozen_string_literal: true

require_relative "../../errors"
require_relative "frame"
require_relative "shared_status"

module Penstock
  module Execution
    module Processes
      # The application's side of a process of the pool: sends to it, reads from it, shows what it is doing and how it ended.
      # Used by the thread that drives it; answers to user code's queries are sent by other threads.
      #
      # The end of its socket means that it is gone. A process that its user code has forked may keep the socket open, so the
      # mold's report of its end counts too, once everything it sent has been read.
      class ChildHandle
        # How long to wait for the end of a child whose socket is closed.
        STATUS_S = 5.0
        private_constant :STATUS_S

        # @return [Integer]
        attr_reader :pid

        # @param pid [Integer]
        # @param channel [Channel]
        # @param shared_status [SharedStatus]
        # @param mold [MoldHandle]
        def initialize(pid, channel, shared_status, mold)
          @pid = pid
          @channel = channel
          @shared_status = shared_status
          @mold = mold
          @gone = false
        end

        # @return [UNIXSocket]
        def socket = @channel.socket

        # @return [Boolean] whether it is known to be gone
        def gone? = @gone

        # @return [SharedStatus::State, nil] what it is doing
        def state = @shared_status.read

        # @param type [Symbol]
        # @param value [Object]
        def send_value(type, value) = safely { @channel.send_value(type, value) { take_status } }

        # Kept until {#flush}.
        # @param body [String]
        def unit(body) = @channel.collect(:unit, body)

        def flush = safely { @channel.flush { take_status } }
        def stop = safely { @channel.send_frame(:stop) { take_status } }

        # @see Channel#read
        def read(timeout_s, &)
          answer = @channel.read(timeout_s, &)
          answer = @channel.read(0, &) || false if answer.nil? && take_status
          @gone = true if answer == false
          answer
        rescue Frame::Damaged
          kill # frames after the damage can't be recognized
          @gone = true
          false
        end

        # The mold waits for the child's end, so its process id can't be reused before that is reported to us.
        def kill
          @mold.kill(@pid) unless take_status
        end

        # @return [Array(Integer, Integer)] signal and exit code, one of which is nil; both when its end isn't known
        def status = @status ||= @mold.ended(@pid, STATUS_S) || [nil, nil]

        # Closes this process's ends of socket and status, which ends the child if it still runs.
        def close
          @gone = true
          [@channel, @shared_status].each(&:close)
        end

        private

        # @return [Array(Integer, Integer), nil] nil unless the mold has reported its end
        def take_status
          status = @mold.ended(@pid, 0) unless @status
          @status = status if status
          @status
        end

        # If a child has ended, sending fails silently; the next read notices it.
        def safely
          yield
        rescue SystemCallError, IOError
          nil
        end
      end
    end
  end
end
