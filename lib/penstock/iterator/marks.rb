# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"

module Penstock
  class Iterator
    # The marks of one iteration: they are committed to the iterator's group every few seconds, between batches, and at the end.
    # Belongs to the thread that iterates; ends with {#commit}.
    class Marks
      INTERVAL_MS = 5_000
      HASTY_MS = 2_000
      # Error codes with which a broker answers a client that is not a member of a group that has members.
      OCCUPIED = %i[unknown_member_id illegal_generation rebalance_in_progress].freeze
      private_constant :INTERVAL_MS, :HASTY_MS, :OCCUPIED

      # @param connection [Reading::Connection]
      # @param group [String, nil] id of the group; nil refuses marks
      # @param clock [Clock]
      def initialize(connection, group, clock: Clock::SYSTEM)
        @connection = connection
        @group = group
        @clock = clock
        @rows = {}
        @due_ms = nil
      end

      # A mark of an earlier record than the last one moves the offset back.
      #
      # @param message [Message]
      # @return [void]
      # @raise [ArgumentError] the iterator has no group
      def add(message)
        refuse unless @group
        @rows[[message.topic, message.partition]] = [message.offset + 1, message.leader_epoch]
        @due_ms ||= @clock.monotonic_ms + INTERVAL_MS
      end

      # @return [void]
      def commit_due = @due_ms && @clock.monotonic_ms >= @due_ms && commit

      # For an iteration that ends by an error or an interrupt: it neither waits for long nor raises.
      # @return [void]
      def try_commit
        commit(HASTY_MS)
      rescue KafkaError
        nil
      end

      # @param limit_ms [Integer, nil] time limit; nil: that of all requests
      # @return [void]
      # @raise [KafkaError] the group's coordinator refused
      def commit(limit_ms = nil)
        return if @rows.empty?

        @connection.commit(@rows.map { |key, (offset, epoch)| [*key, offset, nil, epoch] }, limit_ms)
        @rows.clear
        @due_ms = nil
      rescue KafkaError => error
        raise unless OCCUPIED.include?(error.code)

        raise KafkaError.build(number: error.number, name: error.code,
          message: "the group #{@group} has members, so only they may commit: stop them, or mark in another group.id")
      end

      private

      def refuse
        raise ArgumentError, "an iterator without a group can't mark: pass settings: {\"group.id\": \"…\"}"
      end
    end
  end
end
