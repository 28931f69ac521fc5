# frozen_string_literal: true

# Copies records in transactions, and dies or stops where its plan sets it. The plan comes in PENSTOCK_COPIERS as JSON:
# kafka, group, source, target, dead, by (null or "key"), the point at which something happens, how (KILL or STOP), and
# the number of the transaction in which it happens.

require "penstock"
require_relative "../planned"

module Copiers
  extend Penstock::TestSupport::Planned

  PLAN = plan("PENSTOCK_COPIERS")
  @passed = Hash.new(0)
  @lock = Mutex.new

  # Called at each point that a transaction reaches.
  def self.at(point)
    return unless PLAN[:point] == point.to_s && @lock.synchronize { @passed[point] += 1 } == PLAN[:after]

    ::Process.kill(PLAN.fetch(:how), ::Process.pid)
    sleep(0.05) # a signal may take a moment
  end

  # The points that user code doesn't reach.
  module Points
    def send_offsets(...)
      Copiers.at(:before_offsets)
      super.tap { Copiers.at(:after_offsets) }
    end

    private

    def commit(...)
      Thread.new { sleep(rand(3) / 1_000.0) && Copiers.at(:while_committing) } if PLAN[:point] == "while_committing"
      super.tap { Copiers.at(:after_commit) }
    end
  end
  Penstock::Producer::Transactions.prepend(Points)

  class Consumer < Penstock::BaseConsumer
    def consume
      messages.each do |message|
        raise ArgumentError, "a bad one" if message.raw_payload.start_with?("bad")

        copied = transaction do
          produce_async(topic: PLAN[:target], partition: message.partition, key: message.raw_key, payload: message.raw_payload)
          Copiers.at(:produced)
          mark_as_consumed(message)
          raise Penstock::AbortTransaction if rand(10).zero?

          Copiers.at(:marked)
          true
        end
        raise "aborted" unless copied
      end
    end
  end
end

application = Penstock::Application.new("copiers") do |config|
  config.client_id = "copier"
  config.group_id = Copiers::PLAN.fetch(:group)
  config.kafka = Copiers::PLAN.fetch(:kafka)
  config.concurrency = 3
  config.max_messages = 5
  config.pause.timeout = 20
  config.pause.max_timeout = 100
  config.shutdown_timeout = 10_000
end
application.routing.draw do
  topic(Copiers::PLAN.fetch(:source)) do
    consumer Copiers::Consumer
    parallel(by: :key) if Copiers::PLAN[:by]
    dead_letter_queue(topic: Copiers::PLAN.fetch(:dead), max_retries: 2, strategy: lambda do |errors, attempt|
      (errors.last.is_a?(ArgumentError) && attempt > 1) ? :dispatch : :retry
    end)
    breaker false
    quarantine false # the records don't cause the others' deaths
  end
end
exit(application.run!)
