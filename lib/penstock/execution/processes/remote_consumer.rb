# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Represents a consumer that runs in a child process: listeners in the application get it as `caller`. It has the
      # consumer's topic, partition, messages and attempt, and the tags it had when its unit ended.
      class RemoteConsumer
        # @return [Array<String>]
        attr_reader :tags

        # @return [String, nil] the consumer's id
        attr_reader :id

        # @return [Messages]
        attr_reader :messages

        # @param unit [Processing::Unit]
        # @param tags [Array<String>]
        # @param id [String, nil]
        def initialize(unit, tags, id)
          @lane = unit.lane
          @messages = unit.messages
          @attempt = unit.attempt
          @tags = tags
          @id = id
        end

        # @return [Routing::Topic]
        def topic = @lane.topic

        # @return [Integer]
        def partition = @lane.partition

        # @return [Integer]
        attr_reader :attempt

        # @return [Integer, nil] see {BaseConsumer#penstock_lag}
        def penstock_lag = @lane.ledger.incomplete_below(@lane.log_end)

        # @return [String]
        def inspect = "#<#{topic.features[:consumer]} #{@lane.topic_name}/#{partition} in a process of the pool>"
      end
    end
  end
end
