# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Lets a running server or swarm take no new work.
      class Quiet < Control::Command
        command "quiet", "Lets a running server or swarm take no new work", usage: "[--pid N]"
        details "What runs may end, then it stays as it is, in its groups. There is no way back but a stop."
        self.said = "process %d takes no new work"
      end
    end
  end
end
