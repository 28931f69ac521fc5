# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/producer"
require_relative "delivery/handle"
require_relative "dry_client"
require_relative "idle_watch"
require_relative "reporter"
require_relative "sending"
require_relative "status"

module Penstock
  class Producer
    # A producer's client: opened by the first call that needs one, and again behind one that was replaced or put away.
    module Connecting
      # @return [Native::Producer, DryClient, Object] what messages are handed to; opened when there is none
      # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
      def client
        with_client { @client }
      end

      # Has the first client opened with other properties. Behind a fork: what the parent made, this process is to use as its own.
      # @param kafka [Config::KafkaHash] complete
      # @return [Boolean] whether it was early enough: none has been opened
      # @api private
      def reconfigure(kafka)
        @lock.synchronize do
          status.configured?.tap { |early| @config = config.with_kafka(kafka) if early }
        end
      end

      private

      # Yields what sends, with the client open. Errors of a client that is closed meanwhile are this producer's; one that was
      # replaced has sent nothing of it.
      def with_client
        @operations.run do
          connect unless @sending && usable?
          client = @client
          @reporter.refresh if @reporter.stale?
          yield sending || raise(HandleClosedError, "the client was replaced")
        rescue HandleClosedError => error
          raise if error.is_a?(ProducerClosedError)
          retry if replaced?(client)

          raise ProducerClosedError, "the producer #{id} is closed: make a new one", cause: error
        end
      end

      def replaced?(client)
        status.configured? || status.disconnected? || (status.connected? && !client.equal?(@client))
      end

      # While it closes only the closing thread may go on, for the last flush.
      def usable?
        status.connected? || (status.closing? && @closer.equal?(Thread.current))
      end

      def connect
        raise ConfigurationError, "the producer isn't set up: give `Producer.new` a block, or call `setup`" if status.initial?

        opened = @lock.synchronize do
          raise ProducerClosedError, "the producer #{id} is #{status}: make a new one" unless status.active? || usable?

          open_client unless @sending
        end
        instrument("producer.connected") if opened
      end

      # Must be called with the lock held.
      def open_client
        client = new_client
        @reporter = Reporter.new(client, config)
        @sending = Sending.new(client, config) { |error| revive(client, error) }
        @variant_sendings = {}
        @client = client
        @status = Status::CONNECTED unless status.closing?
        watch_idleness
        true
      end

      def watch_idleness
        timeout_ms = config.idle_disconnect_timeout
        @idle_watch = (IdleWatch.new(self, @client, timeout_ms).start if timeout_ms.positive? && !@client.is_a?(DryClient))
      end

      def new_client
        return config.client_class.new if config.client_class

        config.deliver ? native_client : DryClient.new
      end

      # Statistics cost CPU each interval: they are on only if somebody listens by now.
      def native_client
        statistics = monitor.subscribed?(Reporter::STATISTICS)
        config.own_monitor&.too_late_for(Reporter::STATISTICS, statistics ? nil : no_statistics)
        Native::Producer.new(config.native_properties(statistics: statistics), delivery_class: Delivery::Handle,
          max_payload_bytes: config.max_payload_size, token_refresh: config.oauth.token_provider_listener ? true : false)
      end

      def no_statistics
        "the client of the producer #{id} was made without statistics, because nobody listened to them by then: subscribe to " \
          "#{Reporter::STATISTICS} before its first message"
      end
    end
  end
end
