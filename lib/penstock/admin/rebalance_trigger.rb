# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/event"
require_relative "../native/bearer"
require_relative "../native/consumer"
require_relative "../native/kafka_error"

module Penstock
  class Admin
    # Makes a group rebalance: joins it as another member, and leaves as soon as it has been given its part. It consumes and
    # commits nothing. Each member of the group sees two rebalances. Runs on the caller's thread and holds a connection meanwhile.
    class RebalanceTrigger
      CLOSE_MS = 10_000
      # Of a member that goes again: it must not be taken for one that will be back, nor write anything.
      SETTINGS = {"enable.auto.commit" => "false", "enable.auto.offset.store" => "false"}.freeze
      private_constant :CLOSE_MS, :SETTINGS

      # @param settings [Hash{String => String}] librdkafka's, of a member of the group
      # @param timeout_ms [Integer] until the group has given it its part
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(settings, timeout_ms, token_provider = nil)
        @settings = settings.except("group.instance.id", "statistics.interval.ms").merge(SETTINGS)
        @timeout_ms = timeout_ms
        @token_provider = token_provider
      end

      # @param group [String]
      # @param topics [Array<String>]
      # @raise [WaitTimeoutError] the group didn't let it join within the time
      def call(group, topics)
        consumer = Native::Consumer.new({**@settings, "group.id" => group})
        consumer.subscribe(topics)
        await_assignment(consumer, group, Deadline.in(@timeout_ms))
      ensure
        consumer&.close(CLOSE_MS)
      end

      private

      def await_assignment(consumer, group, deadline)
        until deadline.expired?
          consumer.wait([deadline.remaining_ms, 100].min)
          while (event = consumer.poll_event)
            return consumer.answer if event.first == :assign

            handle(consumer, event)
          end
        end
        raise WaitTimeoutError, "group #{group}: no rebalance within #{@timeout_ms} ms"
      end

      def handle(consumer, event)
        case event.first
        when :revoke then consumer.answer
        when :token_refresh then give_token(consumer)
        when :error then refuse(event)
        end
      end

      # Errors that pass by themselves, as a connection that is tried again, only cost time.
      def refuse(event)
        number, message, fatal = event.values_at(1, 3, 4)
        error = Native.error_for(number, "rebalance", message)
        raise error if fatal || !error.retriable?
      end

      def give_token(consumer)
        event = Instrumentation::Event.new("oauthbearer.token_refresh", {bearer: Native::Bearer.new(consumer)})
        @token_provider&.on_oauthbearer_token_refresh(event)
      end
    end
  end
end
