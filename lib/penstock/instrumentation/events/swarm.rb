# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # A supervisor and its nodes. All but two are published in the supervisor.
      module Swarm
        TITLE = "Swarm"

        class << self
          def declare(catalogue)
            catalogue.event("app.supervising", "The application is loaded and nodes are about to be forked.", :server_id)
            catalogue.event("app.before_warmup", "The last moment before pages are made ready to be shared with nodes: the " \
              "place to load what is loaded late, to run what nodes will run, and to close connections. Published in the " \
              "supervisor.", :server_id)
            catalogue.event("swarm.node.after_fork", "A node begins. Published in that process, before it connects to " \
              "anything: the place to open connections of its own.", :node, :pid)
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
            catalogue.event("swarm.mold.after_fork", "A mold begins. Published in that process, before it forks a node: the " \
              "place to run for all nodes what must not be run in the supervisor.", :pid)
            catalogue.event("swarm.mold.warm", "A mold is ready: from here on it forks nodes. `time` is what it did before " \
              "that took, in ms.", :pid, :time)
            catalogue.event("swarm.mold.ended", "A mold has ended; nodes go on. `timeout`: when the next is forked, nil where " \
              "none is.", :pid, :reason, :timeout)
            catalogue.event("swarm.mold.given_up", "There is no mold any more: nodes are forked from the supervisor.", :reason)
          end

          def ends(catalogue)
            catalogue.event("swarm.manager.restarting", "A rolling restart begins: all nodes are replaced, one after another. " \
              "`count`: how many there are now.", :count)
            catalogue.event("swarm.manager.stopping", "A node is told to stop.", :node, :pid, :reason)
            catalogue.event("swarm.manager.terminating", "A node is killed: its time to stop is over.", :node, :pid, :reason)
            catalogue.event("swarm.manager.node_ended", "A node has ended. `timeout`: when the next begins, nil where none does.",
              :node, :pid, :reason, :timeout)
            catalogue.event("swarm.manager.held_down", "A node has died so often while it started that it isn't started again " \
              "until the swarm is restarted.", :node, :reason)
          end
        end
      end
    end
  end
end
