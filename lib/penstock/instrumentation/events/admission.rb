# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of messages that are kept from `consume`, temporarily or permanently.
      module Admission
        TITLE = "Admission"
        LANE = %i[topic partition].freeze

        class << self
          def declare(catalogue)
            catalogue.event("filtering.throttled", "A partition waits because of `delay_by`, `throttle` or a filter (see " \
              "`reason`). Emitted once for the message it waits at.", *LANE, :offset, :timeout, :reason, optional: %i[message])
            catalogue.event("filtering.seek", "A filter moves a partition to another offset, as soon as the messages before " \
              "it are complete.", *LANE, :offset, :message)
            catalogue.event("filtering.dropped", "Messages that are not consumed: filtered, or expired (`reason`). They count " \
              "as complete.", *LANE, :count, :first_offset, :last_offset, :reason)
            catalogue.event("filtering.expired", "An expired record was sent to the topic of `expire_in` (`to`): the broker " \
              "has acknowledged it, and only now the record's offset may be committed.", *LANE, :offset, :message, :to, :attempt,
              :error, optional: [:omitted])
            catalogue.event("delay.forwarded", "Records of a delay topic were moved on: how many to their targets " \
              "(`arrived`), to the next delay topic (`moved`), to one because the target didn't take them (`set_back`), and " \
              "to the dead letters (`dead_lettered`).", *LANE, :first_offset, :last_offset, :arrived, :moved, :set_back,
              :dead_lettered)
          end
        end
      end
    end
  end
end
