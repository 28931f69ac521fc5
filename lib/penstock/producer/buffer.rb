# frozen_string_literal: true

module Penstock
  class Producer
    # Keeps messages in memory until they are flushed: as they were given, neither checked nor run through middleware. A flush
    # puts messages that it couldn't send back at the front, marked as run through middleware, so that middleware sees each
    # message once.
    #
    # Any thread may use it. In a forked child it starts empty: the parent has the same messages and will send them.
    class Buffer
      # @return [Array<(Array<Hash>, Array<Hash>)>] messages that have already run through middleware, and messages that
      #   haven't
      Taken = Struct.new(:ready, :fresh) do
        def empty?
          ready.empty? && fresh.empty?
        end

        def to_a
          ready + fresh
        end
      end

      def initialize
        @lock = Mutex.new
        clear(::Process.pid)
      end

      # @param messages [Array<Hash>]
      # @return [void]
      def add(messages)
        synchronize { @fresh.concat(messages) }
      end

      # @return [Taken] everything; the buffer is empty afterwards
      def take
        synchronize { Taken.new(@ready, @fresh).tap { clear(@pid) } }
      end

      # @param ready [Array<Hash>] in their order, run through middleware
      # @param fresh [Array<Hash>] the messages after them, not run through middleware
      # @return [void]
      def put_back(ready, fresh = [])
        synchronize do
          @ready = ready + @ready
          @fresh = fresh + @fresh
        end
      end

      # @return [Array<Hash>]
      def to_a
        synchronize { @ready + @fresh }
      end

      # @return [Integer]
      def size
        synchronize { count }
      end

      # @return [Boolean]
      def empty?
        size.zero?
      end

      # For `inspect`, which must never block.
      #
      # @return [Integer, String] "busy" when another thread has the lock
      def size_or_busy
        return "busy" unless @lock.try_lock

        begin
          count
        ensure
          @lock.unlock
        end
      end

      private

      def count
        @ready.size + @fresh.size
      end

      def synchronize
        @lock.synchronize do
          clear(::Process.pid) unless @pid == ::Process.pid
          yield
        end
      end

      def clear(pid)
        @ready = []
        @fresh = []
        @pid = pid
      end
    end
  end
end
