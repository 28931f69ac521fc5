# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Where user code runs, beside threads: fibers and processes.
      module Execution
        TITLE = "Execution"

        class << self
          def declare(catalogue)
            catalogue.event("fibers.blocked", "User code under `run_on :fibers` has kept its thread for over a second, so that " \
              "no other unit of it could go on. `backtrace` tells where it stands.", :topic, :partition, :thread, :waited_ms,
              :backtrace)
            processes(catalogue)
            workers(catalogue)
          end

          private

          def workers(catalogue)
            keys = %i[workers_pool from to]
            catalogue.event("worker.scaling.up", "There may be more worker threads than before.", *keys)
            catalogue.event("worker.scaling.down", "There may be fewer worker threads than before; those that are too many end " \
              "with what they run.", *keys)
          end

          def processes(catalogue)
            catalogue.event("process_pool.after_fork", "A process of the pool of `run_on :processes` begins. Published in that " \
              "process, before its first unit: the place to open connections of its own.", :pid)
            catalogue.event("process_pool.child_started", "A process of the pool was forked.", :pid)
            catalogue.event("process_pool.child_died", "A process of the pool has died. Another takes its place; the record it " \
              "ran is tried again.", :pid, :reason)
          end
        end
      end
    end
  end
end
