# frozen_string_literal: true

require "penstock"

module ActiveJob
  module QueueAdapters
    # Jobs as records of Kafka: `config.active_job.queue_adapter = :penstock`. See docs/active_job.md.
    class PenstockAdapter < (defined?(AbstractAdapter) ? AbstractAdapter : Object)
      include Penstock::ActiveJob::Adapter
    end
  end
end
