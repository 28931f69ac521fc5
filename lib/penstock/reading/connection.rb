# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/token_request"
require_relative "../native/bearer"
require_relative "../native/consumer"

module Penstock
  module Reading
    # A client that reads partitions with `assign`. It joins no group and commits nothing by itself, so it needs no rights
    # but to read the topics. Used by one thread, except {#wakeup}; ends with {#close}.
    class Connection
      # Errors that may pass by themselves: no leader or coordinator yet, or a broker and this client know of an election at
      # different times.
      PASSING = %i[
        leader_not_available not_leader_for_partition unknown_leader_epoch fenced_leader_epoch offset_not_available
        replica_not_available timed_out transport all_brokers_down resolve
        not_coordinator coordinator_not_available coordinator_load_in_progress wait_coord unstable_offset_commit
      ].freeze
      # Errors of a request that no broker has answered.
      UNEXPLAINED = %i[timed_out transport all_brokers_down].freeze
      # Errors that mean that the brokers refuse this client: waiting for an answer is of no use.
      REFUSED = %i[authentication sasl_authentication_failed ssl].freeze
      # Longest wait for one answer, so that a refused client is noticed early.
      SLICE_MS = 5_000
      PAUSE_MS = 50
      CLOSE_MS = 2_000
      # Special times: the first offset, and the end, which depends on the connection's `isolation.level`.
      EARLIEST = -2
      LATEST = -1
      NONE = -1001
      private_constant :PASSING, :UNEXPLAINED, :REFUSED, :SLICE_MS, :PAUSE_MS, :CLOSE_MS, :EARLIEST, :LATEST, :NONE

      class << self
        # Connects, yields, disconnects, also when the block is left by `break`, or its thread is killed.
        #
        # @param settings as for {#initialize}
        # @yieldparam connection [Connection]
        # @return what the block returns
        def open(*settings, **options)
          connection = new(*settings, **options)
          yield connection
        ensure
          connection&.close
        end
      end

      # @param settings [Hash{String => String}] librdkafka's, see {Config::KafkaMap.reading}
      # @param timeout_ms [Integer] time limit of each request
      # @param token_provider [#on_oauthbearer_token_refresh, nil]
      def initialize(settings, timeout_ms:, token_provider: nil)
        @settings = settings
        @timeout_ms = timeout_ms
        @token_provider = token_provider
        @last_error = nil
        @token = 0
        @answers = {}
        @client = Native::Consumer.new(settings)
        provide_token if @token_provider
      rescue Exception # rubocop:disable Lint/RescueException -- an interrupt must not leave the client open either
        @client&.close(CLOSE_MS)
        raise
      end

      # @return [Integer] ms
      attr_reader :timeout_ms
      # @return [KafkaError, nil] the last error that the client reported, or that a partition had, since the last answered
      #   request
      attr_reader :last_error

      # Requests all topics: brokers that create topics on demand create a topic that a request names.
      #
      # @param topics [Array<String>]
      # @param within_ms [Integer] time limit
      # @return [Hash{String => Array<Integer>}] their partitions
      # @raise [KafkaError] `:unknown_topic_or_part`, with the names of all that are missing
      def partitions(topics, within_ms = @timeout_ms)
        request("the topics of the cluster", within_ms) do |limit_ms|
          found = @client.metadata(nil, limit_ms).fetch(:topics)
          missing = topics.reject { |topic| found.key?(topic) }
          raise missing(missing) unless missing.empty?

          topics.to_h do |topic|
            raise_row(found[topic][:error], topic)
            [topic, found[topic][:partitions].keys.sort]
          end
        end
      end

      # @param pairs [Array<(String, Integer)>]
      # @return [Hash{(String, Integer) => Integer}] their first offsets
      def beginnings(pairs) = offsets(pairs.map { |pair| [*pair, EARLIEST] })

      # @param pairs [Array<(String, Integer)>]
      # @return [Hash{(String, Integer) => Integer}] where they end: with `read_committed` before the first open transaction
      def ends(pairs) = offsets(pairs.map { |pair| [*pair, LATEST] })

      # Connects once more for that, as a client can't ask for both ends.
      #
      # @param pairs [Array<(String, Integer)>]
      # @return [Hash{(String, Integer) => Integer}] where their logs end, regardless of open transactions
      def log_ends(pairs)
        self.class.open(@settings.merge("isolation.level" => "read_uncommitted"), timeout_ms: @timeout_ms,
          token_provider: @token_provider) { |other| other.ends(pairs) }
      end

      # @param times [Hash{(String, Integer) => Integer}] ms since the epoch
      # @return [Hash{(String, Integer) => Integer, nil}] the first offset whose time isn't before it, nil if there is none
      def at(times)
        offsets(times.map { |pair, time_ms| [*pair, time_ms] }).transform_values { |offset| offset unless offset.negative? }
      end

      # @param pairs [Array<(String, Integer)>]
      # @return [Hash{(String, Integer) => Integer, nil}] what the connection's group has committed, nil for nothing
      def committed(pairs)
        return {} if pairs.empty?

        request("the group's offsets") do |limit_ms|
          @client.fetch_committed(@token += 1, pairs, timeout_ms: limit_ms)
          number, text, rows = await_answer(limit_ms)
          raise_row(number, "the group's offsets", text)
          rows.to_h do |topic, partition, offset, _metadata, _epoch, error|
            raise_row(error, "#{topic}/#{partition}")
            [[topic, partition], (offset unless offset == NONE)]
          end
        end
      end

      # @param rows [Array<(String, Integer, Integer, nil, Integer)>] topic, partition, offset, no metadata, leader epoch
      # @param within_ms [Integer, nil] time limit
      # @return [void]
      # @raise [KafkaError] the group's coordinator refuses, `:unknown_member_id` if the group has members
      def commit(rows, within_ms = nil)
        request("the commit", within_ms || @timeout_ms) do |limit_ms|
          @client.commit(@token += 1, rows)
          number, answers = await_answer(limit_ms)
          raise_row(number, "the commit")
          answers.each { |topic, partition, _offset, error| raise_row(error, "the commit of #{topic}/#{partition}") }
        end
      end

      # Begins to fetch partitions. Passing an offset with each avoids asking the group for its position, which would need
      # permission to read the group.
      #
      # @param parts [Array<Part>]
      # @return [Hash{Part => Native::Lane}]
      def assign(parts)
        lanes = parts.to_h { |part| [part, @client.lane(part.topic, part.partition)] }
        refused(@client.assign(parts.map { |part| [*part.key, part.from] }), "assign")
        lanes
      end

      # @param lanes [Hash{Part => Native::Lane}] not to be fetched any more
      # @return [void]
      def unassign(lanes)
        return if lanes.empty?

        refused(@client.unassign(lanes.keys.map(&:key)), "unassign")
        lanes.each_value(&:close)
      end

      # Waits until something has arrived, then handles the client's events.
      #
      # @param limit_ms [Integer] 0 doesn't wait
      # @return [Array<Integer>] ids of lanes that have something
      # @raise [FatalError] the client is lost
      def wait(limit_ms)
        @client.wait(limit_ms)
        handle_events
        @client.ready_lanes
      end

      # @param lane [Native::Lane]
      # @return [Native::Batch, nil]
      def take(lane, max_records, max_bytes) = @client.take([lane, max_records, max_bytes]).first

      # @param batch [Native::Batch]
      # @return [void]
      # @raise [KafkaError] its partition can't be read any further
      def check(batch)
        number, text = batch.error
        return unless number

        @last_error = Native.error_for(number, "#{batch.topic}/#{batch.partition}", text)
        raise @last_error unless @last_error.retriable?
      end

      # Ends a wait, from any thread.
      # @return [void]
      def wakeup
        @client.wakeup
      rescue HandleClosedError
        nil # nothing waits any more
      end

      # @return [void]
      def close = @client.close(CLOSE_MS)

      private

      def offsets(rows)
        return {} if rows.empty?

        request("the offsets of #{rows.map { |topic, *| topic }.uniq.first(3).join(", ")}") do |limit_ms|
          @client.offsets_for_times(rows, limit_ms).to_h do |topic, partition, offset, number|
            raise_row(number, "#{topic}/#{partition}")
            [[topic, partition], offset]
          end
        end
      end

      # @yieldparam limit_ms [Integer] time for one try
      # @raise [KafkaError] with what the client reported, where that is the reason
      def request(what, within_ms = @timeout_ms)
        deadline = Deadline.in(within_ms)
        begin
          yield(deadline.wait_ms(SLICE_MS).clamp(1, SLICE_MS)).tap { @last_error = nil }
        rescue KafkaError => error
          handle_events
          raise if !PASSING.include?(error.code) || error.is_a?(FatalError)
          raise unreachable(what, error) if deadline.expired? || REFUSED.include?(@last_error&.code)

          @client.wait(deadline.wait_ms(PAUSE_MS))
          retry
        end
      end

      # The error that the client has reported meanwhile explains more than "no answer".
      def unreachable(what, error)
        reason = (UNEXPLAINED.include?(error.code) && @last_error) || error
        KafkaError.build(number: reason.number, name: reason.code, retriable: reason.retriable?,
          message: "no answer about #{what}: #{reason.broker_message}")
      end

      # An answer that comes too late is forgotten with its token.
      def await_answer(limit_ms)
        deadline = Deadline.in(limit_ms)
        @answers.clear
        until (found = @answers[@token])
          raise Native.error_for(Native.error_number(:timed_out), "no answer within #{limit_ms} ms") if deadline.expired?

          @client.wait(deadline.wait_ms(SLICE_MS))
          handle_events
        end
        found
      end

      def handle_events
        while (event = @client.poll_event)
          case event.first
          when :error then reported(*event.drop(1))
          when :token_refresh then provide_token
          when :committed, :commit then @answers[event[1]] = event.drop(2)
          end
        end
      end

      # That all brokers are down is reported after the reason, and the reason only once.
      def reported(number, name, text, fatal)
        error = Native.kafka_error(number, name, text, fatal ? Native::ERROR_FATAL : 0)
        @last_error = error unless error.code == :all_brokers_down && @last_error
        raise error if fatal
      end

      def provide_token
        return Instrumentation::TokenRequest.call(@token_provider, @client, @timeout_ms) if @token_provider

        Native::Bearer.new(@client).oauthbearer_set_token_failure("there is no token provider")
      end

      def refused(answer, name)
        raise Native.error_for(answer[0], name, answer[1]) if answer
      end

      def raise_row(number, place, text = nil)
        raise Native.error_for(number, place, text) unless number.zero?
      end

      def missing(topics)
        names = topics.join(", ")
        Native.error_for(Native.error_number(:unknown_topic_or_part), names,
          "#{(topics.size == 1) ? "this topic doesn't" : "these topics don't"} exist, or this client may not see " \
          "#{(topics.size == 1) ? "it" : "them"}")
      end
    end
  end
end
