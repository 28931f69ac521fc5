# frozen_string_literal: true

require_relative "clock"
require_relative "kafka/cluster"
require_relative "kafka/driver"
require_relative "kafka/timeline"
require_relative "sleeper"
require_relative "waiting"

module Penstock
  module Testing
    module Memory
      # Brokers and processes on one timeline, run by one thread: everything that happens is an event of the timeline, and time
      # passes only between two events. Subclasses decide what else happens.
      class World
        CURRENT = :penstock_memory_world
        private_constant :CURRENT

        class << self
          # @return [World, nil] the one that the calling thread runs
          def current = Thread.current.thread_variable_get(CURRENT)

          # @param world [World, nil]
          def current=(world)
            Thread.current.thread_variable_set(CURRENT, world)
          end
        end

        # @return [Kafka::Timeline]
        attr_reader :timeline
        # @return [Clock]
        attr_reader :clock
        # @return [Kafka::Cluster]
        attr_reader :cluster
        # @return [Random]
        attr_reader :random
        # @return [Sleeper, Turn, nil] whose code runs now
        attr_accessor :running

        # @param random [Random] determines everything that is left open: the order of events of the same time, and delays
        def initialize(random)
          @random = random
          @timeline = Kafka::Timeline.new(random)
          @running = nil
        end

        # Lets the next event happen.
        # @return [Boolean] whether there was one
        def step = @timeline.step

        # @return [Integer] ms that an immediate action takes
        def quickly = 0

        # @return [Sleeper] in which code of a process runs alongside its other code
        def sleeper(instance, connection = nil, &) = Sleeper.new(instance, connection, &)

        def inspect = "#<#{self.class}>"
      end
    end
  end
end
