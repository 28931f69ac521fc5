# frozen_string_literal: true

module Penstock
  module Server
    # Meaning of a process's exit codes.
    module ExitCodes
      # The process ended in order.
      OK = 0
      # The process could not boot, its configuration is invalid, or another process uses its static member id or its
      # transactional.id.
      CONFIGURATION = 1
      # The shutdown timeout had ended, or the process was ordered to end at once.
      FORCED = 2
      # The supervisor of the node is gone.
      ORPHANED = 3
      # The nodes of the swarm can't be started.
      UNBOOTABLE = 4
      # A poll loop failed because of a defect in Penstock.
      INTERNAL = 70
    end
  end
end
