# frozen_string_literal: true

require_relative "../clock"
require_relative "../deadline"
require_relative "../on_demand"
require_relative "../reading/positions"
require_relative "../reading/ranges"
require_relative "../serialization/deserializers"
require_relative "marks"
Penstock.load_constant :Messages

module Penstock
  class Iterator
    # One call of {Iterator#each}: passes the messages to its block, and commits what is marked. Belongs to the thread of that
    # call, except {#stop}; ends with it.
    class Iteration
      # Longest wait at once.
      TURN_MS = 500
      private_constant :TURN_MS

      # @return [Marks]
      attr_reader :marks

      # @param block [Proc]
      # @param iterator [Iterator] the second argument of the block
      # @param options see {Iterator#initialize}; `group:` id of the group for marks, `deserializers:` a callable, by topic
      def initialize(block, iterator, follow:, group:, deserializers:, wait_ms:, yield_nil:, max_messages:)
        @block = block
        @iterator = iterator
        # Blocks of Enumerable's methods, and those made of a method's name, would take the iterator for a second value.
        @both = block.parameters.count { |kind, _name| %i[req opt].include?(kind) } > 1
        @follow = follow
        @group = group
        @deserializers = Hash.new do |known, topic|
          known[topic] = deserializers&.call(topic) || Serialization::Deserializers::DEFAULT
        end
        @wait_ms = wait_ms
        @yield_nil = yield_nil
        @left = max_messages
        @stopped = @leave = false
      end

      # @param connection [Reading::Connection]
      # @param wanted [Array<Reading::Positions::Wanted>]
      # @return [void]
      def run(connection, wanted)
        @connection = connection
        @marks = Marks.new(connection, @group)
        @ranges = Reading::Ranges.new(connection, Reading::Positions.new(connection, follow: @follow).parts(wanted))
        committing { read }
      end

      # Any thread.
      # @return [void]
      def stop
        @stopped = @leave = true
        @connection&.wakeup
      end

      # @return [Boolean] whether the partition was still being read
      def stop_partition(topic, partition)
        current = (@current == [topic, partition])
        @leave = true if current
        @ranges.stop(topic, partition) || current
      end

      # @return [Boolean] whether there was a current message
      def stop_current_partition = @current ? stop_partition(*@current) : false

      private

      # Marks count, however the block is left; its error is more important than one of the commit, and a thread that
      # is killed doesn't wait for long.
      def committing
        yield
      rescue Exception => error # rubocop:disable Lint/RescueException -- raised again
        raise
      ensure
        (error || Thread.current.status == "aborting") ? @marks.try_commit : @marks.commit
      end

      # The connection wakes up for other reasons than records, too, and for marks that are due.
      def read
        quiet_from_now
        until @stopped || @ranges.finished?
          arrived = @ranges.turn(@quiet.wait_ms(TURN_MS)) { |part, batch, first, count| deliver(part, batch, first, count) }
          @marks.commit_due
          next if arrived || @stopped
          @ranges.expect_progress
          nothing_arrived if @quiet.expired?
        end
      end

      def nothing_arrived
        pass(nil) if @yield_nil
        quiet_from_now
      end

      # The time that the block takes doesn't count.
      def quiet_from_now = @quiet = Deadline.in(@wait_ms)

      def deliver(part, batch, first, count)
        @current = part.key
        @leave = @stopped
        batch.context = Messages::Context.new(@deserializers[part.topic], Clock::SYSTEM.wall_ms)
        batch.each_view(Message, nil, first, @left ? [count, @left].min : count) do |message|
          break if @leave

          pass(message)
          count_down if @left
        end
        quiet_from_now
      ensure
        @current = nil
      end

      def pass(message) = @both ? @block.call(message, @iterator) : @block.call(message)

      def count_down
        stop if (@left -= 1).zero?
      end
    end
  end
end
