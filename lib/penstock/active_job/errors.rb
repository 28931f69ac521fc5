# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module ActiveJob
    # A record of a job's topic isn't a job.
    class InvalidJobError < StandardError
      include Penstock::Error
    end

    # Jobs would share what must be separate: the process stops instead.
    class SharedStateError < CriticalError
    end
  end
end
