# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Methods of Karafka's application and server classes that Penstock's don't have, each with what to do instead. Without
      # state.
      module Application
        INSTEAD = {
          declaratives: "say config(partitions:, replication_factor:, …) in a topic's route",
          warmup: "a swarm warms up by itself before it forks, see config.swarm.mold",
          initialized!: "states are entered by run!, swarm! and Embedded.start",
          run: "say run!",
          stop: "say stop!",
          quiet: "say quiet!"
        }.freeze

        # @param name [Symbol]
        # @return [String, nil] the error text for a call of it; nil if Karafka has no such method either
        def self.message(name)
          hint = INSTEAD[name] and "a Penstock application has no #{name}: #{hint}"
        end
      end
    end
  end
end
