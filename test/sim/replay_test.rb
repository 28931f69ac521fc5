# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock"
require "penstock/cli/replay/machine"
require "support/sim/world"

module Penstock
  # Decides again what flight recorders hold after simulated runs with rebalances, crashes and resets: the replay leaves
  # out nothing that decisions depend on.
  class SimReplayTest < TestCase
    SEEDS = (1..40)

    test "every lane of forty simulated runs is decided again as it was, as far as a dump contains it" do
      compared = 0
      SEEDS.each do |seed|
        each_recording(seed) do |recording, process|
          machine = CLI::Replay::Machine.new(recording).run
          compared += machine.compared
          assert_nil machine.difference, "seed #{seed}, #{process}, #{recording.values_at("topic", "partition").join("/")}"
        end
      end
      assert_operator compared, :>, 5_000
    end

    private

    def each_recording(seed)
      world = TestSupport::Sim::World.new(TestSupport::Sim::Plan.draw(seed))
      world.run
      world.instances.each do |instance|
        instance.connections.each do |connection|
          JSON.parse(JSON.generate(connection.loop.recording)).each { |recording| yield recording, connection.name }
        end
      end
    end
  end
end
