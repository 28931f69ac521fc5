# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Lists methods of Karafka's application and server classes that Penstock's don't have, with what to do instead.
      # Stateless.
      module Application
        INSTEAD = {
          boot_file: "the command line finds it: PENSTOCK_BOOT_FILE, penstock.rb or config/penstock.rb in PenstockApp.root",
          core_root: "use Penstock.gem_root: the gem's folder",
          gem_root: "use Penstock.gem_root",
          warmup: "a swarm warms up by itself before it forks, see config.swarm.mold",
          initialized!: "states are entered by run!, swarm! and Embedded.start",
          run: "use run!",
          stop: "use stop!",
          quiet: "use quiet!"
        }.freeze

        # @param name [Symbol]
        # @return [String, nil] the error text for a call; nil if Karafka has no such method either
        def self.message(name)
          hint = INSTEAD[name] and "a Penstock application has no #{name}: #{hint}"
        end
      end
    end
  end
end
