# frozen_string_literal: true

require "penstock/processing/commit_state"

module Penstock
  module TestSupport
    module Sim
      # Gives lanes of a plan with a metadata budget that budget from the beginning, and counts when a lane takes no
      # more records because of it.
      module Room
        def initialize(lane)
          super
          budget = simulated&.plan&.budget or return
          @ledger.budget = budget
        end

        def metadata_nearly_full?
          pressed = super
          simulated&.coverage&.hit("pressure stop") if pressed && !@told_pressed
          @told_pressed = pressed
        end

        private

        # @return [World, nil] nil in other runs on a virtual clock, which have no plan
        def simulated = World.current.then { |world| world if world.respond_to?(:plan) }

        Processing::CommitState.prepend(self)
      end
    end
  end
end
