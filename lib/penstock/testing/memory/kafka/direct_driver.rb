# frozen_string_literal: true

require_relative "driver"

module Penstock
  module Testing
    module Memory
      module Kafka
        # The client of a route with `assign`: reads partitions without joining the group, and commits to it all the same.
        class DirectDriver < Driver
          def direct? = true

          # @param keys [Array<Array(String, Integer)>]
          def assign(keys) = push([:assign, keys])

          def close(_timeout_ms = 0)
            return if closed?
            cluster.observer.closed(self, assigned)
            forget
          end
        end
      end
    end
  end
end
