# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # What keeps messages from `consume`, for a time or for good.
      module Admission
        TITLE = "Admission"
        LANE = %i[topic partition].freeze

        class << self
          def declare(catalogue)
            catalogue.event("filtering.throttled", "A partition waits because of `delay_by`, `throttle` or a filter (`reason` " \
              "says which). Told once for the message it waits at.", *LANE, :offset, :timeout, :reason, optional: %i[message])
            catalogue.event("filtering.seek", "A filter has a partition go on at another offset, once what comes before it is " \
              "done.", *LANE, :offset, :message)
            catalogue.event("filtering.dropped", "Messages that won't be consumed: filtered, or expired (`reason`). They count " \
              "as complete.", *LANE, :count, :first_offset, :last_offset, :reason)
          end
        end
      end
    end
  end
end
