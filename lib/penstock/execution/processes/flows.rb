# frozen_string_literal: true

require_relative "../../consumer/flow"

module Penstock
  module Execution
    module Processes
      # Converts user code's requests about its partition to plain values and back.
      module Flows
        KINDS = {pause: Consumer::Flow::Pause, seek: Consumer::Flow::Seek, resume: Consumer::Flow::Resume,
                 collapse: Consumer::Flow::Collapse, marked_only: Consumer::Flow::MarkedOnly}.freeze
        private_constant :KINDS

        # @param flow [Consumer::Flow, nil]
        # @return [Array, nil]
        def self.dump(flow) = flow && [KINDS.key(flow.class), *flow.to_a]

        # @param values [Array, nil]
        # @return [Consumer::Flow, nil]
        def self.load(values) = values && KINDS.fetch(values.first).new(*values.drop(1))
      end
    end
  end
end
