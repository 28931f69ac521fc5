# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Stops a running server or swarm in order.
      class Stop < Control::Command
        command "stop", "Stops a running server or swarm in order", usage: "[--pid N]"
        details "Returns at once; running jobs may take shutdown_timeout. A second stop leaves 5 s, a third ends it at once."
        self.confirmation = "process %d stops"
      end
    end
  end
end
