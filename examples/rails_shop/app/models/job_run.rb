# frozen_string_literal: true

# A ReceiptJob that was performed, for the page that shows what happened.
class JobRun < ApplicationRecord
  def self.record(job, order, outcome)
    create!(order_id: order.id, job_id: job.job_id, outcome: outcome, process: Process.pid)
  end
end
