# frozen_string_literal: true

require_relative "../../native/delivery"

module Penstock
  class Producer
    module Delivery
      # The outcome of a message. Immutable.
      class Report
        # @return [String]
        attr_reader :topic
        # @return [Integer] -1 if it never got one
        attr_reader :partition
        # @return [Integer] below 0 when it wasn't stored, or when `acks` is 0
        attr_reader :offset
        # @return [Integer] milliseconds since 1970
        attr_reader :timestamp
        # @return [KafkaError, nil] nil when it was delivered
        attr_reader :error
        # @return [Object, nil] the same object that was passed as `label:`
        attr_reader :label
        # @return [:delivered, :failed, :unknown] `:failed` means that it is certainly not stored; `:unknown` that it may
        #   be: it was sent, and no answer came
        attr_reader :outcome

        alias_method :topic_name, :topic

        # @param row [Array] from the driver: label, error number, topic, partition, offset, timestamp in ms, and whether it
        #   was persisted (:not, :possibly, :persisted)
        def initialize(row)
          @label, number, @topic, @partition, @offset, @timestamp, persisted = row
          @error = number.zero? ? nil : Native::Delivery.error_for(number)
          @outcome = outcome_of(@error, persisted)
          freeze
        end

        # @return [Boolean]
        def delivered?
          @outcome == :delivered
        end

        # @return [Boolean]
        def unknown?
          @outcome == :unknown
        end

        # @return [Integer, nil] librdkafka's number of the error
        def error_number
          @error&.number
        end

        # @return [Hash{Symbol => Object}]
        def to_h
          {topic: @topic, partition: @partition, offset: @offset, timestamp: @timestamp, error: @error, label: @label,
           outcome: @outcome}
        end

        # @return [String] without label and payload
        def inspect
          "#<#{self.class} #{@topic}/#{@partition} at offset #{@offset}: #{@outcome}#{" (#{@error.code})" if @error}>"
        end

        private

        def outcome_of(error, persisted)
          return :delivered unless error

          (persisted == :not) ? :failed : :unknown
        end
      end
    end
  end
end
