# frozen_string_literal: true

module Penstock
  class Consumer
    # What user code asked of its partition's flow while it ran: go on elsewhere, wait, or run in one row. Values, so that an
    # outcome can carry them to the poll loop.
    module Flow
      # Hold the partition. `offset` is where it goes on (nil: where it stands), `timeout_ms` nil: until `resume`.
      Pause = Struct.new(:offset, :timeout_ms)

      # Go on at `target`: an offset, :earliest or :latest.
      Seek = Struct.new(:target)

      # Up to and including the record at `through` they run one by one, in the partition's order.
      Collapse = Struct.new(:through)

      # Lift the user's pause.
      Resume = Struct.new(:nothing)
    end
  end
end
