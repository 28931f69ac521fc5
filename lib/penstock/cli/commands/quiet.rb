# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Makes a running server or swarm take no new work.
      class Quiet < Control::Command
        command "quiet", "Makes a running server or swarm take no new work", usage: "[--pid N]"
        details "Running jobs finish, then the process stays in its groups without taking work. Only a stop ends this state."
        self.confirmation = "process %d takes no new work"
      end
    end
  end
end
