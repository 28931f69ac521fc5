# frozen_string_literal: true

require_relative "../config/kafka_map"
require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/event"
require_relative "../native/admin"
require_relative "../native/bearer"
require_relative "../native/embedded_control_client"

module Penstock
  class Admin
    # The connection that the commands share: opened by the first call, used by any thread, closed once. Every call has the
    # same time limit; errors that may pass by themselves (a coordinator moves, a leader is being elected) are retried within
    # it.
    class Session
      # Default wait between two checks for something that isn't visible yet, and between tries.
      PAUSE_MS = 50
      # Errors that may pass by themselves: no coordinator or leader yet, or a leader and this client that know of each other's
      # election at different times. All others are raised at once.
      PASSING = %i[
        not_coordinator coordinator_not_available coordinator_load_in_progress not_leader_for_partition
        leader_not_available unknown_leader_epoch fenced_leader_epoch unstable_offset_commit
      ].freeze
      private_constant :PAUSE_MS, :PASSING

      # @return [Integer] time limit of a call in ms
      attr_reader :timeout_ms

      # @param visible_ms [Integer, nil] most time for a change to become visible; nil: as long as a call
      # @param pause_ms [Integer] between two checks
      def initialize(kafka, timeout_ms:, token_provider: nil, visible_ms: nil, pause_ms: PAUSE_MS)
        @settings = Config::KafkaMap.strings(kafka, :admin)
        @timeout_ms = timeout_ms
        @visible_ms = visible_ms || timeout_ms
        @pause_ms = pause_ms
        @token_provider = token_provider
        @lock = Mutex.new
        @closed = false
      end

      # @return [String, nil]
      def servers
        @settings["bootstrap.servers"]
      end

      # Sends one request. An error that may pass by itself is retried until the time limit, then raised.
      #
      # @param name [Symbol] a method of {Native::Admin} whose last argument, before `extra`, is its time limit
      # @yieldparam rows [Array, Hash] for rows that contain errors of their own: an error raised by the block is retried in
      #   the same way
      # @return [Array, Hash, Object] its rows, or what the block returns
      def call(name, *arguments, extra: [])
        deadline = Deadline.in(@timeout_ms)
        begin
          rows = native.public_send(name, *arguments, deadline.remaining_ms, *extra)
          block_given? ? yield(rows) : rows
        rescue KafkaError => error
          raise if !PASSING.include?(error.code) || deadline.remaining_ms < @pause_ms

          pause
          retry
        end
      end

      # Returns the metadata of a topic. Requests all topics: brokers that create topics on demand create a topic that a
      # request names, so a check for a topic that was just deleted would create it again.
      #
      # @param name [String]
      # @return [Hash]
      # @raise [KafkaError] `:unknown_topic_or_part`
      def topic(name)
        found = call(:metadata, nil)[:topics][name]
        error = found ? found[:error] : Native.error_number(:unknown_topic_or_part)
        raise Native.error_for(error, name) unless error.zero?

        found
      end

      # @return [Hash{String=>Array<Integer>}] the partitions of all topics that exist
      def partitions
        found = call(:metadata, nil)[:topics].select { |_name, topic| topic[:error].zero? }
        found.transform_values { |topic| topic[:partitions].keys.sort }
      end

      # @param name [Symbol] a method of {Native::Admin} that returns one row per topic
      # @return [void]
      # @raise [KafkaError] the error of the first row that has one
      def change(name, rows)
        call(name, rows).each do |topic, number, message|
          raise Native.error_for(number, topic, message) unless number.zero?
        end
      rescue KafkaError => error
        raise unless error.code == :unsupported_feature && embedded

        yield embedded
      end

      # @yieldreturn [Boolean] whether the change is visible
      # @raise [WaitTimeoutError] it wasn't visible within the time limit
      def wait_until_visible(what)
        deadline = Deadline.in(@visible_ms)
        until yield
          raise WaitTimeoutError, "#{what}: not visible after #{@visible_ms} ms" if deadline.expired?

          pause
        end
      end

      def close
        native = @lock.synchronize do
          @closed = true
          @native
        end
        native&.close
      end

      private

      def pause
        sleep(@pause_ms / 1000.0)
      end

      def native
        @lock.synchronize do
          raise HandleClosedError, "this Penstock::Admin is closed: open a new one" if @closed

          @native ||= Native::Admin.new(@settings).tap { |native| ask_for_token(native) }
        end
      end

      def ask_for_token(native)
        return unless @token_provider

        event = Instrumentation::Event.new("oauthbearer.token_refresh", {bearer: Native::Bearer.new(native)})
        @token_provider.on_oauthbearer_token_refresh(event)
      end

      def embedded
        @embedded ||= Native::EmbeddedControlClient.of(native, @timeout_ms)
      end
    end
  end
end
