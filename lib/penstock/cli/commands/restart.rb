# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Replaces the nodes of a running swarm, one after another.
      class Restart < Control::Command
        command "restart", "Replaces the nodes of a running swarm, one after another", usage: "[--pid N]"
        details "The nodes are forked from the same code: a new version needs a new swarm. This doesn't restart a server. " \
          "Returns at once: `penstock status` shows the nodes. A swarm that is quiet or stops refuses it."
        self.confirmation = "process %d replaces its nodes"
      end
    end
  end
end
