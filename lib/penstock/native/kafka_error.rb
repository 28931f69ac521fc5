# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Native
    # Bits of the flags that the extension passes with an error.
    ERROR_FATAL = 1
    ERROR_RETRIABLE = 2
    ERROR_ABORTABLE = 4

    # Errors after which the same call may succeed. librdkafka reports that itself only in transactional calls; for all others
    # this list is taken from the protocol's own table of retriable errors.
    # https://kafka.apache.org/protocol#protocol_error_codes
    RETRIABLE_ERRORS = %w[
      _TRANSPORT _RESOLVE _ALL_BROKERS_DOWN _TIMED_OUT _TIMED_OUT_QUEUE _WAIT_COORD _WAIT_CACHE _RETRY _IN_PROGRESS
      INVALID_MSG UNKNOWN_TOPIC_OR_PART LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION REQUEST_TIMED_OUT
      REPLICA_NOT_AVAILABLE NETWORK_EXCEPTION COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR
      NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_CONTROLLER KAFKA_STORAGE_ERROR
      FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH LISTENER_NOT_FOUND FENCED_LEADER_EPOCH
      UNKNOWN_LEADER_EPOCH OFFSET_NOT_AVAILABLE PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE
      ELECTION_NOT_NEEDED CONCURRENT_TRANSACTIONS UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED UNKNOWN_TOPIC_ID
      STALE_MEMBER_EPOCH REBALANCE_IN_PROGRESS
    ].freeze

    # Kafka's text for a missing right contains a dump of its request object.
    NEEDED_RIGHT = /\ARequest Request\(.*\) needs (\w+) permission\.?/m
    private_constant :NEEDED_RIGHT

    # Builds the exception for a librdkafka error; the extension calls it and raises what it returns.
    #
    # @param number [Integer] librdkafka's error number
    # @param name [String] its name (`"_TIMED_OUT"`)
    # @param message [String]
    # @param flags [Integer] ERROR_FATAL | ERROR_RETRIABLE | ERROR_ABORTABLE
    # @return [KafkaError] of the subclass that fits
    def self.kafka_error(number, name, message, flags)
      KafkaError.build(
        number: number, name: name, message: message.sub(NEEDED_RIGHT, 'it needs \1 permission'),
        fatal: flags.anybits?(ERROR_FATAL),
        retriable: flags.anybits?(ERROR_RETRIABLE) || RETRIABLE_ERRORS.include?(name),
        abortable: flags.anybits?(ERROR_ABORTABLE)
      )
    end

    # @param number [Integer] librdkafka's error number, as rows of results contain it
    # @param place [String] what failed
    # @param message [String, nil] the broker's message, if it sent more than the number
    # @return [KafkaError]
    def self.error_for(number, place, message = nil)
      name = error_numbers.key(number) || "UNKNOWN"
      text = (message || error_text(number)).sub(NEEDED_RIGHT, 'it needs \1 permission')
      kafka_error(number, name, "#{place}: #{text}", 0)
    end

    # @param error [Integer, Symbol] a number, or a {KafkaError#code} (`:not_coordinator`, `:timed_out`)
    # @return [Integer] librdkafka's error number
    # @raise [ArgumentError] for an unknown name
    def self.error_number(error)
      return error if error.is_a?(Integer)

      @error_codes ||= error_numbers.transform_keys { |name| KafkaError.code_of(name) }.freeze
      @error_codes.fetch(error.to_sym) { raise ArgumentError, "there is no Kafka error #{error.inspect}" }
    end
  end
end
