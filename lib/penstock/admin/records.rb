# frozen_string_literal: true

require_relative "../native/kafka_error"
require_relative "failures"

module Penstock
  class Admin
    # Deletes records. Stateless; runs on the caller's thread.
    class Records
      # @param session [Session]
      # @param targets [OffsetTargets]
      def initialize(session, targets)
        @session = session
        @targets = targets
      end

      # @return [Hash{String => Hash{Integer => Integer}}] the first offsets that are left
      def delete(topics)
        wanted = @targets.resolve(topics).to_h { |(topic, partition), offset| [[topic, partition], [topic, partition, offset]] }
        left = wanted.each_with_object({}) { |((topic, _partition), _row), found| found[topic] = {} }
        errors = @session.settle(:delete_records, wanted) do |topic, partition, offset, number|
          left[topic][partition] = offset
          [[topic, partition], number, "#{topic}/#{partition}", nil]
        end
        Failures.raise_any(errors)
        left
      end
    end
  end
end
