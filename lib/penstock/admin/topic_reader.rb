# frozen_string_literal: true

require_relative "../clock"
require_relative "../config/kafka_map"
require_relative "../native"
require_relative "../on_demand"
require_relative "../reading/connection"
require_relative "../reading/positions"
require_relative "../reading/ranges"
require_relative "../serialization/deserializers"
require_relative "arguments"
Penstock.load_constant :Messages

module Penstock
  class Admin
    # Reads records of one partition, over a connection for each call. Stateless; runs on the caller's thread.
    class TopicReader
      # @param kafka [Hash] librdkafka's properties
      # @param timeout_ms [Integer]
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(kafka, timeout_ms:, token_provider: nil)
        @kafka = kafka.to_h { |name, value| [name.to_s, value] }
        @timeout_ms = timeout_ms
        @token_provider = token_provider
      end

      # @return [Array<Message>] by offset
      def read(topic, partition, count, start, settings)
        (topic, _partition), = Arguments.partitions({topic => [partition]})
        start = start(count, start)
        found = []
        each(topic, partition, start, settings) do |message|
          found << message
          break if found.size == count
        end
        found
      end

      # @param start as {Reading::Positions::Wanted}
      # @yieldparam message [Message] those from there to the end that the partition has now
      # @return [void]
      def each(topic, partition, start, settings = {}, &block)
        properties = Config::KafkaMap.reading({**@kafka, **settings.to_h { |name, value| [name.to_s, value] }})
        Reading::Connection.open(properties, timeout_ms: @timeout_ms, token_provider: @token_provider) do |connection|
          check(partition, topic, connection.partitions([topic]).fetch(topic))
          wanted = Reading::Positions::Wanted.new(topic, partition, start)
          Reading::Ranges.new(connection, Reading::Positions.new(connection).parts([wanted])).each do |_part, batch, first, size|
            batch.context = context(topic)
            batch.each_view(Message, nil, first, size, &block)
          end
        end
      end

      private

      def start(count, start)
        raise ArgumentError, "count must be an Integer of at least 1, is #{count.inspect}" unless
          count.is_a?(Integer) && count.positive?
        return Reading::Positions::Last.new(count) if start == -1
        return start if start.is_a?(Time) || (start.is_a?(Integer) && !start.negative?)

        raise ArgumentError, "start_offset must be an offset, a Time, or -1 for the last #{count} records; is #{start.inspect}"
      end

      def check(partition, topic, existing)
        return if existing.include?(partition)

        raise Native.error_for(Native.error_number(:unknown_partition), "#{topic}/#{partition}",
          "#{topic} has #{existing.size} partitions, from 0 on")
      end

      def context(topic)
        Messages::Context.new(Admin.deserializers&.call(topic) || Serialization::Deserializers::DEFAULT, Clock::SYSTEM.wall_ms)
      end
    end
  end
end
