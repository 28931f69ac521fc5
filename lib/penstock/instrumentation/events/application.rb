# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of the process and its workers.
      module Application
        TITLE = "Application"

        STATES = {
          "initializing" => "Not published: an application is in this state before anything can subscribe.",
          "initialized" => "Setup is done: the application is about to run, or its producer is used for the first time. Once; " \
                           "nodes of a swarm are forked after it. Use it to set up other libraries from the settings.",
          "running" => "The process consumes.",
          "quieting" => "The process takes no more work; running jobs finish.",
          "quiet" => "No job runs any more; the process stays in its group.",
          "stopping" => "The process stops: running jobs have `shutdown_timeout` to finish.",
          "stopped" => "All consumer connections are closed. Producers still work.",
          "terminated" => "Everything is closed."
        }.freeze

        class << self
          def declare(catalogue)
            STATES.each { |state, description| catalogue.event("app.#{state}", description, :server_id) }
            stop(catalogue)
            workers(catalogue)
            catalogue.event("flight_recorder.dumped", "The last actions of all partitions were written to a file, because of " \
              "a signal, a stop by force or a loop that failed. `penstock replay` shows it.", :path, :reason, :lanes)
            catalogue.event("listener.slow", "A listener took over a second; what published the event, such as a worker, " \
              "waited for it. Its first, tenth, hundredth … time is reported.", :inside, :listener, :time)
            catalogue.event("process.notice_signal", "A signal was received and will be handled.", :signal)
          end

          private

          def stop(catalogue)
            catalogue.event("app.interrupting", "Units that still run near the end of `shutdown_timeout` are interrupted.",
              :jobs)
          end

          def workers(catalogue)
            catalogue.event("worker.process", "A worker begins a unit.", :job, :jobs_queue)
            catalogue.event("worker.processed", "A worker has finished a unit.", :job, :jobs_queue, timed: true)
            catalogue.event("worker.completed", "A worker has finished a unit and its cleanup, also after an error: " \
              "use it to return what a thread borrowed.", :job, :jobs_queue)
          end
        end
      end
    end
  end
end
