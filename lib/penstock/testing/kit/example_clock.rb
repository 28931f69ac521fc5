# frozen_string_literal: true

require_relative "../../clock"

module Penstock
  module Testing
    class Kit
      # The time by which an application's delays decide in examples: Ruby's, which tests move with `travel_to` and the like, as
      # the times are that they give; inside of a run the virtual one. Stateless. Stays after the example, when both are the same.
      class ExampleClock < Penstock::Clock
        def wall_ms
          virtual = Memory::World.current if defined?(Memory::World) # loaded by the first run
          virtual ? virtual.clock.wall_ms : (::Time.now.to_r * 1_000).to_i
        end
      end
    end
  end
end
