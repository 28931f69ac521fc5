# frozen_string_literal: true

module Penstock
  module Server
    # What the exit code of a process says.
    module ExitCodes
      # Everything ended in order.
      OK = 0
      # It could not boot, its configuration is wrong, or another process uses its static member id.
      CONFIGURATION = 1
      # The stop's time was over, or it was told to end at once.
      FORCED = 2
      # The supervisor of the node is gone.
      ORPHANED = 3
      # The nodes of the swarm can't be started.
      UNBOOTABLE = 4
      # A poll loop failed by a defect of its own.
      INTERNAL = 70
    end
  end
end
