# frozen_string_literal: true

require "securerandom"
require_relative "../errors"
require_relative "../on_demand"

module Penstock
  # Delivers messages later, through topics in which they wait.
  module Delays
    # A message on its way: where it is to arrive, and when. Builds the messages that carry it, and reads them. Names and format
    # of the headers are fixed (docs/formats.md), because records wait in clusters across deployments. A frozen value.
    class DelayedMessage
      TOPIC = "penstock_delay_topic"
      # When it is due at its target, in ms since 1970; stays with the message.
      UNTIL = "penstock_delay_until"
      # Identifies the message and all its copies; stays with it.
      ID = "penstock_delay_id"
      KEY = "penstock_delay_key"
      PARTITION = "penstock_delay_partition"
      PARTITION_KEY = "penstock_delay_partition_key"
      TIMESTAMP = "penstock_delay_timestamp"
      # How often its target has refused it.
      FAILURES = "penstock_delay_failures"
      # When it leaves the topic in which it waits. Shared with retry topics.
      DUE_AT = "penstock_due_at"
      # The headers of a record that waits; none of the user's may have these names.
      ALL = [TOPIC, UNTIL, ID, KEY, PARTITION, PARTITION_KEY, TIMESTAMP, FAILURES, DUE_AT].freeze
      # The end of the year 9999: beyond it a time is a mistake.
      LATEST_MS = 253_402_300_799_999
      # All records are written to one partition, in which they wait in their order.
      PLACE = {partition: 0}.freeze
      # A waiting record has them in its headers, or doesn't need them.
      MOVED = %i[topic key partition partition_key timestamp headers].freeze
      private_constant :ALL, :LATEST_MS, :MOVED, :PLACE

      # @return [String] the target
      attr_reader :topic
      # @return [Integer] ms since 1970
      attr_reader :until_ms
      # @return [String]
      attr_reader :id
      # @return [Integer] how often its target has refused it
      attr_reader :failures

      class << self
        # @param message [Hash] as {Producer} takes it
        # @param until_ms [Integer] ms since 1970
        # @return [DelayedMessage]
        # @raise [ArgumentError] the time is impossible
        # @raise [MessageInvalidError] the message could not be sent to its target
        def new_for(message, until_ms)
          unless until_ms.is_a?(Integer) && until_ms.between?(0, LATEST_MS)
            raise ArgumentError, "the time of a delayed message must be between 1970 and 9999, is #{until_ms.inspect[0, 80]} " \
              "(ms since 1970)"
          end
          problems = rules.new(max_payload_bytes: Float::INFINITY).problems(message)
          raise MessageInvalidError, "the delayed message is invalid: #{problems.join("; ")}" unless problems.empty?

          new(message, until_ms, SecureRandom.uuid)
        end

        # @param record [Message] of a delay topic
        # @return [DelayedMessage]
        # @raise [DelayError] it can't be known where or when it is to arrive
        def read(record)
          headers = record.raw_headers
          topic = text(headers, TOPIC)
          until_ms = number(headers, UNTIL)
          raise DelayError, damage(TOPIC, headers) unless topic && rules.topic?(topic)
          raise DelayError, damage(UNTIL, headers) unless until_ms&.between?(0, LATEST_MS)

          new(original(record, headers, topic), until_ms, text(headers, ID), number(headers, FAILURES) || 0)
        end

        # @param record [Message] of a delay topic
        # @return [String, nil]
        def id_of(record) = text(record.raw_headers, ID)

        private

        # Loads the producer if it hasn't been used yet.
        def rules = Producer::MessageRules

        def original(record, headers, topic)
          numbers = {partition: PARTITION, timestamp: TIMESTAMP}.transform_values { |name| number(headers, name) }
          texts = {key: KEY, partition_key: PARTITION_KEY}.transform_values { |name| text(headers, name) }
          {topic: topic, **numbers, **texts}.compact.merge(payload: record.raw_payload, headers: headers.except(*ALL))
        end

        def text(headers, name) = Array(headers[name]).last&.then { |value| value.empty? ? nil : value }
        def number(headers, name) = text(headers, name)&.then { |value| Integer(value, 10, exception: false) }

        def damage(name, headers)
          value = Array(headers[name]).last.to_s[0, 80].inspect
          "its header #{name} is #{headers.key?(name) ? "damaged (#{value})" : "missing"}: " \
            "it isn't known #{(name == TOPIC) ? "where" : "when"} the message is to arrive"
        end
      end

      # @param message [Hash] as it is to arrive
      # @param until_ms [Integer] ms since 1970
      # @param id [String, nil]
      # @param failures [Integer]
      # @api private
      def initialize(message, until_ms, id, failures = 0)
        @message = message
        @topic = message[:topic].to_s
        @until_ms = until_ms
        @id = id
        @failures = failures
        freeze
      end

      # @param left_ms [Integer] until it is due
      # @param tiers [Routing::DelayTiers]
      # @param now_ms [Integer] ms since 1970
      # @return [Hash] the message that waits in the tier that fits
      def waiting(left_ms, tiers, now_ms)
        tier = tiers.for(left_ms)
        carrier(tier, now_ms + [left_ms, tier.delay_ms].min, @failures)
      end

      # @param delay_ms [Integer] until its target is tried again
      # @param tiers [Routing::DelayTiers]
      # @param now_ms [Integer] ms since 1970
      # @return [Hash] the message that waits for that
      def set_back(delay_ms, tiers, now_ms)
        tier = tiers.for(delay_ms)
        carrier(tier, now_ms + [delay_ms, tier.delay_ms].min, @failures + 1)
      end

      # @return [Hash] the message for its target
      def arriving
        kept = {UNTIL => @until_ms.to_s, ID => @id}.compact
        {**@message.except(:label, :handle), headers: {**@message[:headers].to_h.except(*ALL), **kept}}
      end

      def inspect = "#<#{self.class} #{@id} to #{@topic} at #{@until_ms}>"

      private

      def carrier(tier, due_ms, failures)
        headers = {**@message[:headers].to_h.except(*ALL), **target, DUE_AT => due_ms.to_s}
        headers[FAILURES] = failures.to_s if failures.positive?
        {**@message.except(*MOVED), topic: tier.topic, **PLACE, headers: headers}
      end

      def target
        {TOPIC => @topic, UNTIL => @until_ms.to_s, ID => @id, KEY => @message[:key], PARTITION => @message[:partition]&.to_s,
         PARTITION_KEY => @message[:partition_key], TIMESTAMP => stamp&.to_s}.compact
      end

      def stamp
        time = @message[:timestamp]
        time.is_a?(Time) ? (time.to_r * 1_000).to_i : time
      end
    end
  end
end
