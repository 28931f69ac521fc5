# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      module Checking
        # Checks that the ticks users wished for are called: I9. Part of {Checker}.
        module Ticks
          # User code wishes for a tick of its lane.
          def tick_wished(lane)
            @coverage.hit("tick wished")
            (@wished ||= {}.compare_by_identity)[lane] ||= @world.timeline.now + @plan.tick_in
          end

          def ticked(lane)
            due = @wished&.delete(lane) or return
            @coverage.hit("tick after a wish")
            early = due - @world.timeline.now
            fail("I9", "#{lane.inspect} ticks #{early} ms before its time") if early.positive? && !@plan.calls
          end

          # @return [String, nil] a wish of a lane that is still owned
          def unfulfilled
            lane, = @wished&.find { |each, _due| each.owned? && !each.leaving? && alive?(each) }
            "#{lane.inspect} has not ticked, as its user wishes" if lane
          end

          private

          def alive?(lane)
            @world.running_instances.flat_map(&:connections).any? { |each| each.lanes.any? { |own| own.equal?(lane) } }
          end
        end
      end
    end
  end
end
