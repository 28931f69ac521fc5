# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Admin
    # One request about many things, some of which failed; the others are done. It is the error of the first, whose class, code
    # and number it has, and lists all.
    module PartialFailure
      # @return [Hash{Object => KafkaError}] what failed, by the place in the request
      attr_accessor :failures

      # @return [String]
      def message
        others = failures.values.drop(1).map(&:message)
        others.empty? ? super : "#{super}; #{others.join("; ")}"
      end
    end

    # Turns the outcomes of a request about many things into a result, or an exception.
    module Failures
      # @param errors [Hash{Object => KafkaError, nil}]
      # @return [void]
      # @raise [KafkaError] of the first that failed; a {PartialFailure}
      def self.raise_any(errors)
        failures = errors.compact
        return if failures.empty?

        error = failures.values.first.extend(PartialFailure)
        error.failures = failures
        raise error
      end
    end
  end
end
