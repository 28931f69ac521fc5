# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Makes a running server or swarm log what its threads do.
      class Dump < Control::Command
        command "dump", "Makes a running server or swarm log what its threads do", usage: "[--pid N]"
        details "Logs threads, partitions and the flight recorder; in a swarm those of every node."
        self.confirmation = "process %d writes to its log"
      end
    end
  end
end
