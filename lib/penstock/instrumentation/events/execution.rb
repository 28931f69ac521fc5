# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of fibers and processes that run user code.
      module Execution
        TITLE = "Execution"

        class << self
          def declare(catalogue)
            catalogue.event("fibers.blocked", "User code under `run_on :fibers` has blocked its thread for over a second, so " \
              "that no other unit of the thread could run. `backtrace` shows where it " \
              "is.", :topic, :partition, :thread, :waited_ms,
              :backtrace)
            processes(catalogue)
            workers(catalogue)
          end

          private

          def workers(catalogue)
            keys = %i[workers_pool from to]
            catalogue.event("worker.scaling.up", "The maximum number of worker threads was raised; from 0 when the " \
              "application starts.", *keys)
            catalogue.event("worker.scaling.down", "The maximum number of worker threads was lowered; surplus threads end " \
              "when they finish their unit.", *keys)
            load(catalogue)
          end

          def load(catalogue)
            keys = %i[workers period_ms busy_ms lock_wait_ms estimated]
            catalogue.event("workers.measured", "With `lock_metrics`, every 10 seconds: what the worker threads did since the " \
              "last time.", *keys)
            catalogue.event("workers.advised", "With `lock_metrics`, at most once an hour: while records wait, more worker " \
              "threads or more processes would help. The numbers are those of the last minute.", :advice, :suggested, *keys)
          end

          def processes(catalogue)
            catalogue.event("process_pool.after_fork", "A process of the pool of `run_on :processes` begins. Published in that " \
              "process, before its first unit: use it to open connections of its own.", :pid)
            catalogue.event("process_pool.before_exit", "A process of the pool has run its last unit and ends. Published " \
              "in that " \
              "process: use it to send what it has collected. A process that is killed doesn't publish it.", :pid)
            catalogue.event("process_pool.child_started", "A process of the pool was forked.", :pid)
            catalogue.event("process_pool.child_died", "A process of the pool has died. Another one replaces it; the record " \
              "it was running is tried again.", :pid, :reason)
          end
        end
      end
    end
  end
end
