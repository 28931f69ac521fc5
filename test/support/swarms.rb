# frozen_string_literal: true

require "penstock/config/settings"
require "penstock/swarm/policy"
require "penstock/swarm/registry"

module Penstock
  module TestSupport
    # A registry without processes, and methods that report deaths and status to it.
    module Swarms
      DEFAULTS = {nodes: 3, supervision_interval: 5_000, liveness_timeout: 30_000, restart_backoff: 1_000,
                  restart_backoff_max: 60_000}.freeze

      def swarm(count, **settings)
        @now = 0
        @registry = Swarm::Registry.new(count, policy(**settings), @now)
      end

      def policy(**settings)
        settings = Config::Settings::Swarm.new(*DEFAULTS.merge(settings).values_at(*Config::Settings::Swarm.members))
        Swarm::Policy.new(settings, 60_000, random: -> { @random || 0.0 })
      end

      # All nodes are healthy members.
      def running(count, **settings)
        swarm(count, **settings)
        decide
        count.times { |index| spawned(index) && healthy(index) }
      end

      def decide
        @registry.decide(@now).map do |decision|
          decision.is_a?(Swarm::Registry::Fork) ? [:fork, decision.index] : [:signal, decision.index, decision.name]
        end
      end

      def spawned(index) = @registry.forked(index, 1_000 + index, @now)
      def received(index, message) = @registry.received(index, message, @now)
      def healthy(index) = received(index, Swarm::Message::Healthy.new({member: true})) || true
      def ended(index, how = "killed") = @registry.ended(index, how, @now, from_outside: how == "killed")
      def entry(index) = @registry.entries[index]
      def state(index) = entry(index).state

      # Lets time pass while the other nodes report.
      def wait(ms)
        step = [ms, 10_000].min
        (ms / step).times { (@now += step) && yield }
        @now += ms % step
        yield
      end

      def renewed(index)
        ended(index)
        decide
        spawned(index)
        healthy(index)
      end

      # Lets the node die at boot once more, until it is held down.
      def hold_down(index)
        return if state(index) == :held_down
        spawned(index)
        ended(index)
      end
    end
  end
end
