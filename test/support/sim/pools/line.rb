# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Pools
        # One end of a socket between a simulated process and a process of its pool. Frames arrive in order, also when
        # the writer has died meanwhile; the reader sleeps on the timeline.
        class Line
          FOR_EVER_MS = 1_000_000_000
          # Its writer has died in the middle of a frame.
          class Cut < StandardError; end

          private_constant :FOR_EVER_MS

          # @param world [World]
          # @return [Array(Line, Line)]
          def self.pair(world)
            ours, theirs = new(world), new(world)
            ours.peer = theirs
            theirs.peer = ours
            [ours, theirs]
          end

          # @return [Line] the other end
          attr_accessor :peer
          # The block is called when something has arrived.
          attr_writer :heard

          def initialize(world)
            @world = world
            @timeline = world.timeline
            @bytes = "".b
            @due = 0
            @ended = @closed = false
            @heard = -> {}
          end

          # The next frames are cut in the middle: their writer is to die there.
          def cut! = @cut = true

          def write(bytes)
            raise IOError, "closed" if @closed
            raise Errno::EPIPE if @peer.closed?
            return @peer.coming(bytes) unless @cut
            @peer.coming(bytes.byteslice(0, bytes.bytesize / 2))
            raise Cut
          end

          # There is always room.
          def write_nonblock(bytes, exception:)
            write(bytes)
            bytes.bytesize
          end

          # Whether everything that was sent has been read, and nothing will follow.
          def over? = @ended && @bytes.empty?

          def wait_readable(timeout_s)
            ends = @timeline.now + (timeout_s * 1_000).round
            sleep_until(ends) until readable? || @timeline.now >= ends
            self if readable?
          end

          def readpartial(_most)
            sleep_until(@timeline.now + FOR_EVER_MS) until readable?
            raise IOError, "closed" if @closed
            raise EOFError if @bytes.empty?
            bytes, @bytes = @bytes, "".b
            bytes
          end

          def close
            return if @closed
            @closed = true
            @peer.coming(nil)
          end

          def closed? = @closed

          # @param bytes [String, nil] nil: nothing will follow
          def coming(bytes)
            at = [@due, @timeline.now + @world.quickly].max
            return arrived(bytes) if at == @timeline.now
            @due = at
            @timeline.at(at) { arrived(bytes) }
          end

          def inspect = "#<Line>"

          private

          def readable? = @closed || @ended || !@bytes.empty?

          def arrived(bytes)
            bytes ? @bytes << bytes : @ended = true
            @waiter&.wake_at(@timeline.now)
            @heard.call
          end

          def sleep_until(time)
            @waiter = @world.running
            @waiter.sleep_until(time)
          ensure
            @waiter = nil
          end
        end

        # The shared_status of a process: 32 bytes that outlive it.
        class Memory
          def initialize = @bytes = "".b
          def pwrite(bytes, _at) = @bytes = bytes

          def pread(_count, _at)
            raise EOFError if @bytes.empty?
            @bytes
          end

          def close = nil
        end
      end
    end
  end
end
