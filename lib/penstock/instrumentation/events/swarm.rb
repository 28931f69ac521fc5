# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of a supervisor and its nodes. All but two are published in the supervisor.
      module Swarm
        TITLE = "Swarm"

        class << self
          def declare(catalogue)
            catalogue.event("app.supervising", "The application is loaded and nodes are about to be forked.", :server_id)
            catalogue.event("app.before_warmup", "The last moment before memory pages are prepared for sharing with nodes: " \
              "use it to load what is loaded lazily, to run what nodes will run, and to close connections. Published in the " \
              "supervisor.", :server_id)
            catalogue.event("swarm.node.after_fork", "A node begins. Published in that process, before it connects to " \
              "anything: use it to open connections of its own.", :node, :pid)
            spawning(catalogue)
            molds(catalogue)
            ends(catalogue)
          end

          private

          def spawning(catalogue)
            catalogue.event("swarm.manager.before_fork", "A node is about to be forked.", :node)
            catalogue.event("swarm.manager.after_fork", "A node was forked.", :node, :pid)
          end

          def molds(catalogue)
            catalogue.event("swarm.mold.forked", "A mold was forked.", :pid)
            catalogue.event("swarm.mold.after_fork", "A mold begins. Published in that process, before it forks a node: " \
              "use it to run for all nodes what must not run in the supervisor.", :pid)
            catalogue.event("swarm.mold.warm", "A mold is ready: from now on it forks nodes. `time` is how long its " \
              "preparation took, in ms.", :pid, :time)
            catalogue.event("swarm.mold.ended", "A mold has ended; its nodes keep running. `timeout`: ms until the next is " \
              "forked, nil if none is.", :pid, :reason, :timeout)
            catalogue.event("swarm.mold.given_up", "Molds are no longer used: nodes are forked from the supervisor.", :reason)
          end

          def ends(catalogue)
            catalogue.event("swarm.manager.restarting", "A rolling restart begins: all nodes are replaced, one after another. " \
              "`count`: number of nodes.", :count)
            catalogue.event("swarm.manager.stopping", "A node is asked to stop.", :node, :pid, :reason)
            catalogue.event("swarm.manager.terminating", "A node is killed because it didn't stop in time.", :node, :pid, :reason)
            catalogue.event("swarm.manager.node_ended", "A node has ended. `timeout`: ms until the next begins, nil if none " \
              "does.",
              :node, :pid, :reason, :timeout)
            catalogue.event("swarm.manager.held_down", "A node has died so often while it started that it isn't started again " \
              "until the swarm is restarted.", :node, :reason)
          end
        end
      end
    end
  end
end
