# frozen_string_literal: true

# The consumers of the demo: an ordinary application, run by `penstock server` in two processes. The only unusual part is
# the recording: each finished order becomes a line of this process's journal, and a few numbers per second go
# to the process that draws the progress bar.
require "json"
require "penstock"
require_relative "journal"
require_relative "progress"

JOURNAL = Demo::Journal.new(ENV.fetch("DEMO_JOURNAL"))
PROGRESS = Demo::Progress.new(IO.for_fd(Integer(ENV.fetch("DEMO_STATUS_FD"))))

# About a fast call to a database, so that orders are in flight when a process is killed.
WORK_S = Float(ENV.fetch("DEMO_WORK_MS", "0")) / 1_000

# Adds up what each customer spent.
class OrdersConsumer < Penstock::BaseConsumer
  def initialized
    @spent = Hash.new(0)
  end

  def consume
    PROGRESS.taken(messages.size)
    messages.each do |message|
      began_ns = Demo::Journal.now_ns
      process(message.payload)
      JOURNAL.write("done", message.payload["id"], partition, message.offset, began_ns, Demo::Journal.now_ns)
      PROGRESS.finished(partition, message.offset)
    end
  end

  private

  def process(order)
    @spent[order["customer"]] += order["items"].sum { |item| item["price"] * item["count"] }
    sleep(WORK_S) if WORK_S.positive?
  end
end

class DemoApp < Penstock::App
  setup do |config|
    config.client_id = "demo"
    config.group_id = ENV.fetch("DEMO_GROUP")
    config.concurrency = Integer(ENV.fetch("DEMO_THREADS", "4"))
    config.kafka = {
      # The broker's address and, if required, the login.
      **JSON.parse(ENV.fetch("DEMO_KAFKA"), symbolize_names: true),
      # The partitions of a killed process are blocked for this time.
      "session.timeout.ms": Integer(ENV.fetch("DEMO_SESSION_MS", "6000")),
      "heartbeat.interval.ms": 500,
      # In development consumers create missing topics. The demo deletes its own at the end, and the broker may read the last
      # request of a consumer that has ended only after that: it would create the topic again.
      "allow.auto.create.topics": false,
      # How much a killed process may leave uncommitted, so how much is done twice.
      "auto.commit.interval.ms": Integer(ENV.fetch("DEMO_COMMIT_INTERVAL_MS", "500"))
    }
    # The embedded broker answers an empty fetch only after its wait time; a real one answers when records come.
    config.kafka[:"fetch.wait.max.ms"] = 10 if ENV["DEMO_EMBEDDED"]
  end

  routes.draw do
    topic ENV.fetch("DEMO_TOPIC") do
      consumer OrdersConsumer
    end
  end
end

Penstock.monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(Penstock.logger))
Penstock.monitor.subscribe("app.running") { PROGRESS.running }
Penstock.monitor.subscribe("rebalance.partitions_assigned") { |event| PROGRESS.assigned(event[:tpl]) }
Penstock.monitor.subscribe("rebalance.partitions_revoked") { |event| PROGRESS.revoked(event[:tpl]) }

# Accepted and refused commits, for the table: the broker refuses commits during a rebalance.
Penstock.monitor.subscribe("offsets.committed") do |event|
  event[:offsets].each { |_topic, partition, offset| JOURNAL.write("committed", partition, offset) }
end
Penstock.monitor.subscribe("error.occurred") do |event|
  JOURNAL.write("refused", event[:partition]) if event[:type] == "offsets.commit.error"
end

# Runs after the server has returned, when no job runs any more.
at_exit do
  PROGRESS.close
  JOURNAL.close
end
