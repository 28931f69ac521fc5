# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/token_request"
require_relative "../native/consumer"

module Penstock
  module Runtime
    # Which requests of Kafka's protocol a broker answers, in which versions; from that follows which Kafka it is. A frozen value.
    #
    # librdkafka asks each broker when it connects, and shows the answer only in its debug lines. So {.ask} opens a client that
    # joins nothing, reads these lines from the first broker that answers, and closes the client. Blocks; not on a loop's thread.
    class BrokerRequests
      FETCH = 1
      CONSUMER_GROUP_HEARTBEAT = 68
      TIMEOUT_MS = 5_000
      CLOSE_MS = 1_000
      WAIT_MS = 50
      # The newest version of the request Fetch in each Kafka.
      KAFKA = {10 => "2.2 or older", 11 => "2.3 to 2.6", 12 => "2.7 to 3.0", 13 => "3.1 to 3.4", 15 => "3.5 or 3.6",
               16 => "3.7 or 3.8"}.freeze
      ROW = /: (?<broker>\S+): +ApiKey \S+ \((?<key>\d+)\) Versions \d+\.\.(?<newest>\d+)\z/
      # The line after the last row of a broker.
      AFTER = /: (?<broker>\S+): +(?:Feature|Enabling|Updated) /
      NONE_LEFT = "_ALL_BROKERS_DOWN"
      # Properties of members. max.poll.interval.ms may be shorter than the session timeout that a client without
      # group.protocol: consumer has by default, and isn't accepted then.
      MEMBER = %w[group.protocol group.remote.assignor group.instance.id max.poll.interval.ms statistics.interval.ms].freeze
      private_constant :FETCH, :CONSUMER_GROUP_HEARTBEAT, :CLOSE_MS, :WAIT_MS, :KAFKA, :ROW, :AFTER,
        :NONE_LEFT, :MEMBER

      class << self
        # @param properties [Hash{String => String}] librdkafka's properties of a consumer
        # @param timeout_ms [Integer]
        # @param token_provider [#on_oauthbearer_token_refresh, nil]
        # @return [BrokerRequests, nil] nil: no broker or token provider answered in time, or no broker can be reached
        # @raise [KafkaError] the client can't be opened
        def fetch(properties, timeout_ms: TIMEOUT_MS, token_provider: nil)
          client = Native::Consumer.new({**properties.except(*MEMBER), "debug" => "feature"})
          listen(client, Deadline.in(timeout_ms), token_provider)
        rescue WaitTimeoutError
          nil
        ensure
          client&.close(CLOSE_MS)
        end

        private

        def listen(client, deadline, token_provider)
          rows = Hash.new { |known, broker| known[broker] = {} }
          until deadline.expired?
            client.wait([deadline.remaining_ms, WAIT_MS].min)
            while (event = client.poll_event)
              return if event[2] == NONE_LEFT
              token(client, token_provider, deadline) if event.first == :token_refresh
              broker = complete(event.last, rows) if event.first == :log
              return new(rows[broker]) if broker
            end
          end
        end

        # @return [String, nil] a broker all of whose rows were read
        def complete(line, rows)
          row = ROW.match(line)
          rows[row[:broker]][Integer(row[:key])] = Integer(row[:newest]) if row
          broker = AFTER.match(line)&.[](:broker)
          broker if rows.key?(broker)
        end

        def token(client, provider, deadline)
          Instrumentation::TokenRequest.call(provider, client, deadline.remaining_ms) if provider
        end
      end

      # @param newest [Hash{Integer => Integer}] the newest version of each request, by the protocol's number of the request
      def initialize(newest)
        @newest = newest
        freeze
      end

      # librdkafka uses the request's version 1, which Kafka has had since 4.0.
      # @return [Boolean] whether `group.protocol: consumer` (KIP-848) is known; it may be switched off all the same
      def consumer_protocol? = @newest.fetch(CONSUMER_GROUP_HEARTBEAT, -1).positive?

      # @return [String] `"3.7 or 3.8"`: Kafka's version, or that with which another server is compatible
      def kafka_version
        return "4.0 or newer" if consumer_protocol?
        fetch = @newest.fetch(FETCH, 0)
        KAFKA.find { |newest, _name| newest >= fetch }&.last || "3.9"
      end
    end
  end
end
