# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/token_request"
require_relative "../native/consumer"
require_relative "../native/kafka_error"

module Penstock
  module CLI
    # Commits offsets for a group without members: only then do brokers accept them from a client that is not a member.
    # Runs on the caller's thread and holds a connection during the call.
    class OffsetWriter
      # Error codes with which a broker answers a client that is not a member of a group that has members.
      OCCUPIED = %i[unknown_member_id illegal_generation rebalance_in_progress].freeze
      private_constant :OCCUPIED

      # @param settings [Hash{String => String}] librdkafka's, of a consumer
      # @param timeout_ms [Integer] of each call
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(settings, timeout_ms, token_provider = nil)
        @settings = settings.except("statistics.interval.ms", "group.instance.id", "group.protocol")
        @timeout_ms = timeout_ms
        @token_provider = token_provider
      end

      # @param group [String]
      # @param rows [Array<Array(String, Integer, Integer, String)>] topic, partition, offset, and metadata or nil
      # @raise [KafkaError, WaitTimeoutError]
      def call(group, rows)
        return if rows.empty?

        consumer = Native::Consumer.new({**@settings, "group.id" => group, "enable.auto.commit" => "false"})
        consumer.commit(1, rows)
        answered(consumer, group, Deadline.in(@timeout_ms))
      ensure
        consumer&.close(2_000)
      end

      private

      def answered(consumer, group, deadline)
        until deadline.expired?
          consumer.wait(100)
          while (event = consumer.poll_event)
            give_token(consumer, deadline) if event.first == :token_refresh
            return checked(group, event) if event.first == :commit
          end
        end
        raise WaitTimeoutError, "no answer to the commit of #{group} within #{@timeout_ms} ms"
      end

      def give_token(consumer, deadline)
        Instrumentation::TokenRequest.call(@token_provider, consumer, deadline.remaining_ms) if @token_provider
      end

      def checked(group, event)
        number, rows = event.values_at(2, -1)
        failed = number.zero? ? rows.map(&:last).find { |one| !one.zero? } : number
        return unless failed

        error = Native.error_for(failed, group)
        raise error unless OCCUPIED.include?(error.code)

        raise Native.error_for(failed, group, "it has members; stop all its processes first")
      end
    end
  end
end
