# frozen_string_literal: true

require_relative "../../errors"

module Penstock
  module Runtime
    # Identifies errors with which the cluster refuses a right to this user. They are about the cluster's settings and not about
    # this process: their report needs neither a backtrace nor a flight recording. Stateless.
    module Refusals
      CODES = %i[topic_authorization_failed group_authorization_failed cluster_authorization_failed
        transactional_id_authorization_failed].freeze
      # librdkafka's name of the lines that it writes about fatal errors.
      FATAL_LINE = "FATAL"
      REFUSED = /Fatal error: Broker: [\w ]+ authorization failed/i
      private_constant :CODES, :FATAL_LINE, :REFUSED

      class << self
        # @param error [Exception]
        # @return [Boolean] whether a right is missing
        def include?(error) = error.is_a?(KafkaError) && CODES.include?(error.code)

        # @param error [Exception] that ended a connection
        # @return [String] type of its `error.occurred`
        def type_of(error) = include?(error) ? "librdkafka.error" : "connection.listener.fetch_loop.error"

        # @param facility [String] of a line that librdkafka writes
        # @param message [String]
        # @return [Boolean] whether the line is about a refusal that comes as an error, too
        def line?(facility, message) = facility == FATAL_LINE && message.match?(REFUSED)
      end
    end
  end
end
