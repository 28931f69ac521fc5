# frozen_string_literal: true

require_relative "handle"

module Penstock
  class Producer
    module Delivery
      # The handle of a message that wasn't sent because the producer doesn't deliver (`config.deliver = false`).
      class DryHandle
        include Waiting

        attr_reader :topic, :partition, :offset, :timestamp, :label
        attr_accessor :memo

        def initialize(topic:, partition:, offset:, label: nil)
          @topic = topic
          @partition = partition
          @offset = offset
          @timestamp = -1
          @label = label
          @memo = nil
        end

        def done?
          true
        end

        def unknown?
          false
        end

        def number
          0
        end

        def error
        end

        def row
          [@label, 0, @topic, @partition, @offset, @timestamp, :persisted]
        end
      end
    end
  end
end
