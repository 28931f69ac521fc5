# frozen_string_literal: true

require_relative "../fibers"

module Penstock
  module TestSupport
    module Sim
      module Pools
        # Threads of a simulated process, as fibers on the timeline.
        class Threads
          # The part of Thread that an executor uses.
          Turn = Struct.new(:sleeper) do
            def alive? = !sleeper.ended?
            def join(_timeout_s = nil) = nil
            def backtrace = nil
          end

          # @param instance [Instance]
          def initialize(instance)
            @instance = instance
          end

          def start(_name, **, &)
            sleeper = Sleeper.new(@instance, &)
            sleeper.begin_after(@instance.world.quickly)
            Turn.new(sleeper)
          end
        end
      end
    end
  end
end
