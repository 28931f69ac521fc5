# frozen_string_literal: true

require "penstock/processing/lane"

module Penstock
  module TestSupport
    module Sim
      # Lanes of a plan with little room in its commits' metadata have that little from the beginning; and it is told when a lane
      # takes nothing more because of it.
      module Room
        def initialize(**)
          super
          budget = World.current&.plan&.budget or return
          @ledger.budget = budget
        end

        def pressed?
          pressed = super
          World.current&.coverage&.hit("pressure stop") if pressed && !@told_pressed
          @told_pressed = pressed
        end

        Processing::Lane.prepend(self)
      end
    end
  end
end
