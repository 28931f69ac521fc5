# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/delivery"
require_relative "../printable"

module Penstock
  class Producer
    # Counts and reports the messages that a close could not deliver: in the log, as an event, and to `config.undelivered`.
    # Lives as long as the close, on its thread.
    class Undelivered
      EVENT = "producer.undelivered"

      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
        @callback = settings.undelivered
        @wanted = !@callback.equal?(false) || settings.monitor.subscribed?(EVENT)
      end

      # Called before the client is closed.
      #
      # @param client [Native::Producer]
      # @return [void]
      def count(client)
        client.count_undelivered(@wanted)
      end

      # @param client [Native::Producer, nil] closed by now; nil if there was none
      # @param buffered [Array<Hash>] messages still in the producer's buffer
      # @param late [Integer] number of messages still in flight after the time limit
      # @param refused [Hash{Hash => Exception}] why buffered messages couldn't be sent, by message
      # @return [void]
      def report(client, buffered, late: 0, refused: {})
        failed, unknown = client ? client.undelivered : [0, 0]
        failed += buffered.size
        unknown += late
        count = failed + unknown
        return if count.zero?

        messages = @wanted ? kept(client) + buffered.map { |message| unsent(message, refused[message]) } : []
        log(count, failed, unknown, refused.values.first)
        @settings.monitor.instrument(EVENT, producer_id: @settings.id, count: count, failed: failed, unknown: unknown,
          messages: messages)
        offer(messages)
      end

      private

      def kept(client)
        rows = []
        while (row = client&.take_undelivered)
          rows << message_of(row)
        end
        rows
      end

      # A message that can be produced again, with its outcome.
      def message_of(row)
        topic, payload, key, partition, timestamp_ms, headers, number, persisted = row
        {topic: topic, key: key, partition: partition, timestamp: timestamp_ms, headers: headers}.compact
          .merge(payload: payload, error: Native::Delivery.error_for(number),
            outcome: (persisted == :not) ? :failed : :unknown)
      end

      def unsent(message, error)
        {**message, error: error, outcome: :failed}
      end

      def log(count, failed, unknown, refusal)
        why = "; #{refusal.class}: #{Printable.message(refusal)}" if refusal
        @settings.logger.warn("[#{@settings.id}] closed with #{count} messages undelivered: #{failed} are certainly not " \
          "stored, #{unknown} may be stored#{why}")
      end

      def offer(messages)
        @callback.call(messages) if @callback && messages.any?
      rescue => error
        @settings.monitor.instrument("error.occurred", type: "producer.undelivered.error", error: error,
          producer_id: @settings.id)
      end
    end
  end
end
