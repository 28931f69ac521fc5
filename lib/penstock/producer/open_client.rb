# frozen_string_literal: true

require_relative "../errors"
require_relative "client_factory"
require_relative "dispatcher"
require_relative "dry_client"
require_relative "idle_watch"
require_relative "reporter"
require_relative "special_topics"
require_relative "unclosed"
require_relative "undelivered"

module Penstock
  class Producer
    # A client and everything that is created and ends with it: its reporter, its dispatchers, the idle watch.
    #
    # Created by {Connection}, which holds its lock and decides when the client ends. Used by all threads that produce.
    class OpenClient
      # @return [Native::Producer, DryClient, Object]
      attr_reader :client
      # @return [Reporter]
      attr_reader :reporter
      # @return [Dispatcher] for messages without topic properties of their own
      attr_reader :dispatcher

      # @param config [Settings]
      # @param connection [Connection]
      # @param client [DryClient, nil] instead of the one that the settings specify
      # @yieldparam client [Native::Producer]
      # @yieldparam error [KafkaError] the fatal error of the client
      # @yieldreturn [Boolean] whether there is another client now
      def initialize(config, connection, client: nil, &revive)
        @config = config
        @revive = revive
        @client = client || ClientFactory.new(config).call
        @reporter = Reporter.new(@client, config)
        @dispatcher = dispatcher_to(@client)
        @special_dispatchers = {}.freeze # replaced as a whole: threads read it without the lock
        @lock = Mutex.new
        watch_idleness(connection)
        Unclosed.watch(self, config.id)
      end

      # @param topic_config [Hash{String => String}, nil] properties of the messages' topics
      # @return [Dispatcher]
      def dispatcher_for(topic_config)
        return @dispatcher if topic_config.nil? || topic_config.empty?

        @special_dispatchers[topic_config] || @lock.synchronize { @special_dispatchers[topic_config] || add_locked(topic_config) }
      end

      # @return [Integer] messages queued or in flight
      def queue_size
        @client.queue_size
      rescue HandleClosedError
        0
      end

      # @return [(Integer, String), nil] number and text of the fatal error that has ended the client
      def fatal_error
        @client.fatal_error
      rescue HandleClosedError
        nil
      end

      # Doesn't wait.
      #
      # @return [void]
      def stop_watching
        @idle_watch&.stop
      end

      # @return [Boolean] whether it belongs to the parent process
      def inherited?
        @client.respond_to?(:pid) && @client.pid != ::Process.pid
      end

      # Waits for messages in flight, then closes the client and waits for the reporter.
      #
      # @param deadline [Deadline]
      # @return [Integer] messages that are still in flight
      def close(deadline)
        stop_watching
        in_flight = @client.close(deadline.remaining_ms)
        @reporter.join([deadline.remaining_ms, Reporter::LISTENERS_MS].max)
        (@client.state == :closed) ? 0 : in_flight
      end

      private

      # Must be called with the lock held.
      def add_locked(topic_config)
        special = dispatcher_to(SpecialTopics.new(@client, topic_config, @special_dispatchers.size + 1))
        @special_dispatchers = @special_dispatchers.merge(topic_config => special).freeze
        special
      end

      def dispatcher_to(target)
        Dispatcher.new(target, @config) { |error| @revive.call(@client, error) }
      end

      def watch_idleness(connection)
        timeout_ms = @config.idle_disconnect_timeout
        return unless timeout_ms.positive? && !@client.is_a?(DryClient)

        @idle_watch = IdleWatch.new(connection, @client, timeout_ms).start
      end
    end
  end
end
