# frozen_string_literal: true

require_relative "../../deadline"
require_relative "connection"
require_relative "sleeper"

module Penstock
  module Testing
    module Memory
      # One life of one process: its poll loops, one per {Connection}, with everything that they use ({Host}). It is stopped in
      # order, or dies; its memory is then lost. Subclasses create the host and the connections.
      class Instance
        attr_reader :world, :host, :connections

        # @return [Integer] virtual ms until which the loops' threads get no turn
        attr_accessor :slow_until

        # @param world [World]
        def initialize(world)
          @world = world
          @dead = @stopping = false
          @slow_until = 0
          @connections = []
        end

        def dead? = @dead
        def ended? = @connections.all?(&:ended?)
        def running? = !@dead && !ended?
        def stopping? = @stopping

        # @return [Array<Kafka::Driver>] of all connections
        def drivers = @connections.filter_map(&:driver)

        # @return [Array<Processing::Unit>] those that run
        def units = @host.pool.running.map(&:last)

        # Stops it in order.
        # @param total_ms [Integer]
        def stop(total_ms)
          @stopping = true
          deadline = Deadline.in(total_ms, clock: @world.clock)
          @host.stopping!
          @connections.each { |connection| connection.stop(deadline) unless connection.ended? }
        end

        # It dies as by `kill -9`: it commits nothing and doesn't leave its groups.
        def crash
          @dead = true
          drivers.each(&:forget)
        end

        # @yield what happens inside the process: now, or never
        def run_when_awake
          yield unless @dead
        end

        # Runs a block alongside the process's other code, as on a thread of its own.
        # @yieldparam nap [#call] waits that many milliseconds
        # @return [Sleeper]
        def aside
          sleeper = @world.sleeper(self) { yield ->(delay_ms) { sleeper.sleep_until(@world.timeline.now + delay_ms) } }
          sleeper.begin_after(0)
          sleeper
        end

        def inspect = "#<#{self.class}>"
      end
    end
  end
end
