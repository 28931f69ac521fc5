# frozen_string_literal: true

require_relative "frame"

module Penstock
  module Execution
    module Processes
      # One end of the socket between the application and a child. Any thread may send; one thread reads. Frames may be collected
      # and written together, so that small units share one system call.
      #
      # User code sends too, on threads that a `Timeout`, an interrupt or a kill may hit at any point. These take effect after
      # the write: they must lose neither a part of a frame nor other units' reports, which are written along. A write ends
      # when the other end has read, or is closed.
      class Channel
        READ_BYTES = 256 * 1024
        # Interval of asking whether the other end will never read.
        ASK_S = 0.05
        # Object: a kill isn't an exception.
        WHOLE = {Object => :never}.compare_by_identity.freeze
        private_constant :READ_BYTES, :ASK_S, :WHOLE

        # @param socket [UNIXSocket]
        def initialize(socket)
          @socket = socket
          @parser = Frame::Parser.new
          @writing = Mutex.new # taken before the other one
          @lock = Mutex.new # of the collected frames
          @collected = "".b
        end

        # @return [UNIXSocket]
        attr_reader :socket

        # Sends a frame, after those that were collected.
        # @param type [Symbol]
        # @param body [String]
        # @yieldreturn [Boolean] whether the other end will never read; asked while it doesn't
        # @return [void]
        # @raise [SystemCallError, IOError] the other end is gone
        def send_frame(type, body = "".b, &gone)
          whole do
            collect(type, body)
            flush(&gone)
          end
        end

        # @param value [Object] see {Frame.encode_value}
        def send_value(type, value, &) = send_frame(type, Marshal.dump(value), &)

        # Keeps a frame until {#flush}.
        def collect(type, body)
          frame = Frame.encode(type, body)
          whole { @lock.synchronize { @collected << frame } }
        end

        # @see #send_frame
        def flush(&gone) = whole { @writing.synchronize { write(taken, &gone) } }

        # Sends a frame, after those that were collected, as far as the other end takes them without a wait.
        # @return [Boolean] whether all were sent; {#flush} sends the rest
        # @raise [SystemCallError, IOError] the other end is gone
        def offer(type, body)
          whole do
            collect(type, body)
            next false unless @writing.try_lock
            begin
              rest = write_some(taken)
              @lock.synchronize { @collected.prepend(rest) }
              rest.empty?
            ensure
              @writing.unlock
            end
          end
        end

        # Reads the available frames, waiting for them if there are none.
        # @param timeout_s [Float, nil]
        # @yieldparam type [Symbol]
        # @yieldparam body [String]
        # @return [Boolean, nil] whether frames may follow: false at the end of the stream; nil when nothing came in time
        # @raise [Frame::Damaged]
        def read(timeout_s = nil, &)
          return unless timeout_s.nil? || @socket.wait_readable(timeout_s)
          @parser.feed(@socket.readpartial(READ_BYTES), &)
          true
        rescue IOError, Errno::ECONNRESET # EOFError is one
          false
        end

        def close = @socket.close

        private

        def whole(&) = Thread.handle_interrupt(WHOLE, &)

        def taken
          @lock.synchronize do
            bytes, @collected = @collected, "".b
            bytes
          end
        end

        # Must be called with the lock of the socket held.
        def write(bytes)
          until (bytes = write_some(bytes)).empty?
            raise Errno::EPIPE unless @socket.wait_writable(ASK_S) || !block_given? || !yield
          end
        end

        # Must be called with the lock of the socket held.
        # @return [String] the rest, which the socket doesn't take now
        def write_some(bytes)
          until bytes.empty?
            written = @socket.write_nonblock(bytes, exception: false)
            break if written == :wait_writable
            bytes = bytes.byteslice(written..)
          end
          bytes
        end
      end
    end
  end
end
