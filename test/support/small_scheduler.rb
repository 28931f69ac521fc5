# frozen_string_literal: true

module Penstock
  module TestSupport
    # The smallest scheduler that can show that a fiber yields: it unblocks fibers and watches descriptors.
    class SmallScheduler
      def initialize
        @ready = Queue.new
        @bell, @ringer = IO.pipe
        # Nobody else references a waiting fiber: it would be collected.
        @blocked = []
        @watching = {}
      end

      def run
        turn while @blocked.any? || @watching.any? || !@ready.empty?
      end

      # Called when its thread ends.
      def close
        run
      ensure
        [@bell, @ringer].each(&:close)
      end

      # Resumes the fibers that are ready, after waiting for the first one.
      def turn
        listen
        @ready.size.times { resume(@ready.pop) }
      end

      def block(_blocker, _timeout = nil)
        @blocked << Fiber.current
        Fiber.yield
        true
      ensure
        @blocked.delete(Fiber.current)
      end

      # Any thread may call it.
      def unblock(_blocker, fiber)
        @ready << fiber
        @ringer.write_nonblock(".", exception: false) unless @ringer.closed?
      end

      def fiber(&block)
        Fiber.new(blocking: false, &block).tap(&:resume)
      end

      # Time never passes here.
      def kernel_sleep(*)
        block(nil)
      end

      def io_wait(io, events, _timeout)
        @watching[io] = Fiber.current
        Fiber.yield
        events
      ensure
        @watching.delete(io)
      end

      private

      def listen
        readable, = IO.select([@bell, *@watching.keys], nil, nil, @ready.empty? ? nil : 0)
        return unless readable

        @bell.read_nonblock(1_000, exception: false) if readable.delete(@bell)
        readable.each { |io| @ready << @watching.delete(io) }
      end

      # A fiber may be unblocked twice.
      def resume(fiber)
        fiber.resume if fiber.alive?
      end
    end
  end
end
