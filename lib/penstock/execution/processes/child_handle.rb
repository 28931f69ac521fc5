# frozen_string_literal: true

require_relative "../../errors"
require_relative "frame"
require_relative "shared_status"

module Penstock
  module Execution
    module Processes
      # A process of the pool as the application sees it: what is sent to it, what it says, where it stands, how it ended. Used
      # by the one thread that looks after it.
      class ChildHandle
        # How long a child whose socket is closed may take to be waited for.
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
        def tell(type, value) = safely { @channel.send_value(type, value) }

        # Kept until {#flush}.
        # @param body [String]
        def unit(body) = @channel.collect(:unit, body)

        def flush = safely { @channel.flush }
        def stop = safely { @channel.send_frame(:stop) }

        # @see Channel#read
        def read(timeout_s, &)
          answer = @channel.read(timeout_s, &)
          @gone = true if answer == false
          answer
        rescue Frame::Damaged
          kill # what comes behind the damage can't be told apart
          @gone = true
          false
        end

        # Waiting for it is the mold's: its number can't be anybody else's before we heard of its end.
        def kill
          @status ||= @mold.ended(@pid, 0)
          @mold.kill(@pid) unless @status
        end

        # @return [Array(Integer, Integer)] signal and exit code, of which one is nil; both when it isn't known
        def status = @status ||= @mold.ended(@pid, STATUS_S) || [nil, nil]

        # Closes our ends. Its process ends by that, if it still lives.
        def close
          @gone = true
          [@channel, @shared_status].each(&:close)
        end

        private

        # What can't be sent to a child that has ended is seen when it is read from.
        def safely
          yield
        rescue SystemCallError, IOError
          nil
        end
      end
    end
  end
end
