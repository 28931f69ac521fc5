# frozen_string_literal: true

# Enqueues jobs in two database transactions: the first is rolled back, in the second the process is killed. Each creates an
# order, and enqueues a job that goes through the outbox and one that doesn't. OUTBOX_JOBS: JSON with
#
#   database   options of the connection
#   waits      whether Rails waits for the commit, for all job classes; nil: as it does by default
#   dies       "before" or "after" the second commit
#   produced   file to which the jobs are written that reach the producer: class and argument

require "active_job"
require "active_job/enqueue_after_transaction_commit"
require "active_record"
require "json"
require "logger"
require "penstock"
require "penstock/active_job"
require "penstock/outbox"

PLAN = JSON.parse(ENV.fetch("OUTBOX_JOBS"), symbolize_names: true)
ActiveRecord::Base.establish_connection(**PLAN.fetch(:database))
ActiveJob::Base.logger = Logger.new(nil)

# Writes down what would be sent.
module Producer
  Report = Struct.new(:topic, :partition, :offset)

  def self.produce_sync(message)
    job = JSON.parse(message.fetch(:payload))
    File.write(PLAN.fetch(:produced), "#{job["job_class"]} #{job["arguments"].first}\n", mode: "a")
    Report.new(message[:topic], 0, 0)
  end
end

ActiveJob::Base.queue_adapter = ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { Producer })
ActiveJob::Base.include(ActiveJob::EnqueueAfterTransactionCommit) # as Rails does where there is Active Record
unless PLAN[:waits].nil?
  flags = (ActiveJob.version < Gem::Version.new("8.0")) ? {true => :always, false => :never} : {true => true, false => false}
  ActiveJob::Base.enqueue_after_transaction_commit = flags.fetch(PLAN[:waits])
end

class PlainJob < ActiveJob::Base
  def perform(_total) = nil
end

class OutboxJob < ActiveJob::Base
  penstock_options enqueue: :outbox
  def perform(_total) = nil
end

class Order < ActiveRecord::Base; end

def die = ::Process.kill(:KILL, ::Process.pid) && sleep

def create_order(total)
  Order.create!(total: total)
  OutboxJob.perform_later(total)
  PlainJob.perform_later(total)
end

Order.transaction do
  create_order(1)
  raise ActiveRecord::Rollback
end

# Before Rails' own callbacks of the commit.
if PLAN.fetch(:dies) == "after"
  ActiveSupport::Notifications.subscribe("sql.active_record") { |event| die if event.payload[:sql].match?(/\ACOMMIT/i) }
end

Order.transaction do
  create_order(2)
  die if PLAN.fetch(:dies) == "before"
end
