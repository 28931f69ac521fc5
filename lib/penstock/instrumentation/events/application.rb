# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # The life of the process and its workers.
      module Application
        TITLE = "Application"

        STATES = {
          "initializing" => "Setup begins.",
          "initialized" => "Setup is done, settings and routes are final. Once a process: the place to set up other " \
                           "libraries from the settings.",
          "running" => "The process consumes.",
          "quieting" => "No new work is taken from here on; what runs may end.",
          "quiet" => "Nothing runs any more; the process stays in its group.",
          "stopping" => "The process stops: what runs may end within `shutdown_timeout`.",
          "stopped" => "All connections of consumers are closed. Producers still work.",
          "terminated" => "Everything is closed."
        }.freeze

        class << self
          def declare(catalogue)
            STATES.each { |state, description| catalogue.event("app.#{state}", description, :server_id) }
            stop(catalogue)
            workers(catalogue)
            catalogue.event("flight_recorder.dumped", "What the partitions did last was written to a file, because of a " \
              "signal, a stop by force or a loop that failed. `penstock replay` shows it.", :path, :reason, :lanes)
            catalogue.event("process.notice_signal", "A signal was received and will be acted on.", :signal)
          end

          private

          def stop(catalogue)
            catalogue.event("app.interrupting", "Units that still run at the end of a stop's time are interrupted.",
              :jobs)
          end

          def workers(catalogue)
            catalogue.event("worker.process", "A worker begins a unit.", :job, :jobs_queue)
            catalogue.event("worker.processed", "A worker has ended a unit.", :job, :jobs_queue, timed: true)
            catalogue.event("worker.completed", "A worker is done with a unit and all that belongs to it, in error too: " \
              "the place to give back what a thread borrowed.", :job, :jobs_queue)
          end
        end
      end
    end
  end
end
