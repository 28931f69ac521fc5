# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of Active Job's jobs.
      module ActiveJob
        TITLE = "Active Job"

        class << self
          def declare(catalogue)
            catalogue.event("active_job.consume", "A job of Active Job begins. In a process of a pool there is no `job`, no " \
              "`message` and no `caller`.", :job_class, :job_id, :topic, :partition, :offset, :attempt,
              optional: %i[job message])
            catalogue.event("active_job.consumed", "A job of Active Job was performed, discarded, or enqueued again by " \
              "`retry_on`: it raised nothing that Active Job doesn't handle.", :job_class, :job_id, :topic, :partition, :offset,
              :attempt, optional: %i[job message], timed: true)
          end
        end
      end
    end
  end
end
