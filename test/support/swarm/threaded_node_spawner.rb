# frozen_string_literal: true

require "penstock/swarm/node_spawner"
require "penstock/swarm/reports"
require "penstock/swarm/watchman"

module Penstock
  module TestSupport
    module SwarmRun
      # Nodes that are threads of the supervisor's process.
      class ThreadedNodeSpawner < Swarm::NodeSpawner
        def self.needs_sigchld? = false

        def prepare = nil

        def spawn(index)
          monitor.instrument("swarm.manager.before_fork", {node: index})
          spawned(index, ThreadedNode.new(index, application.dup))
        end
      end

      # A node and its handle in one. Signals are messages; KILL ends the thread.
      class ThreadedNode
        attr_reader :index

        def initialize(index, application)
          @index = index
          @application = application
          @signals = Thread::Queue.new
          @reader, @writer = IO.pipe
          @end, @alive = IO.pipe
          @parser = Swarm::Frame::Parser.new
          @thread = Thread.new { run }
        end

        def pid = @thread.object_id
        def ios = [@reader, @end]

        def read(&)
          bytes = @reader.read_nonblock(65_536, exception: false)
          @parser.feed(bytes, &) if bytes.is_a?(String)
        end

        def signal(name)
          return @thread.kill if name == "KILL"
          @signals << name.sub("USR1", "TERM")
          @thread.alive?
        end

        def ended
          return if @thread.alive?
          @code ? [@code, nil] : [nil, Signal.list.fetch("KILL")]
        end

        def close = [@reader, @writer, @end].each(&:close)

        # Waits for the next signal, like a node's signals.
        def wait = @signals.pop

        private

        def run
          @application.become_node(@index)
          watchman = watch
          @code = @application.run_as_node(self)
        ensure
          watchman&.close
          @watching&.join
          @alive.close
        end

        def watch
          Swarm::Watchman.new(reports: Swarm::Reports.new(@writer), death: nil, orphaned: -> {}, jobs: -> {},
            interval_ms: @application.config.swarm.supervision_interval, health: @application.method(:health)).tap do |watchman|
              @watching = Thread.new { watchman.run }
            end
        end
      end
    end
  end
end
