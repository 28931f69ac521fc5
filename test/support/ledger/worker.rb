# frozen_string_literal: true

# A consumer process that records what it does, one file per process. Its plan comes in PENSTOCK_LEDGER as JSON.

require "penstock"
require_relative "../planned"

module Ledger
  extend Penstock::TestSupport::Planned

  PLAN = plan("PENSTOCK_LEDGER")
  JOURNAL = journal(PLAN.fetch(:journal))

  # kind, topic, partition, offset, attempt, monotonic ms. B and E: begin and end of a record; L: a long one begins
  def self.write(kind, topic = "-", partition = -1, *rest)
    offset, more = rest[0] || -1, rest[1] || 0
    now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :float_millisecond).round(3)
    super(kind, topic, partition, offset, more, now)
  end

  # Works on each record for as long as its payload sets, or else the plan.
  class Consumer < Penstock::BaseConsumer
    def consume
      messages.each do |message|
        Ledger.write("B", message.topic, message.partition, message.offset, attempt)
        work(message)
        Ledger.write("E", message.topic, message.partition, message.offset, attempt)
      end
    end

    def revoked = Ledger.write("V", topic.name, partition)
    def shutdown = Ledger.write("S", topic.name, partition)

    private

    # A payload may be "idle:MS" or "burn:MS"; any other takes as long as the plan sets.
    def work(message)
      kind, ms = message.raw_payload.split(":")
      return burn(Integer(ms)) if kind == "burn"
      raise "poison" if kind == "poison"
      Ledger.write("L", message.topic, message.partition, message.offset) if kind == "idle"
      ms = (kind == "idle") ? Integer(ms) : PLAN.fetch(:work_ms, 0)
      sleep(ms / 1000.0) if ms.positive?
    end

    def burn(ms)
      ends = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + ms / 1000.0
      nil while ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) < ends
    end
  end

  # The application of the process.
  class App < Penstock::App
    setup do |config|
      config.client_id = "ledger"
      config.group_id = PLAN.fetch(:group)
      config.kafka = {"bootstrap.servers": PLAN.fetch(:bootstrap), **PLAN.fetch(:kafka, {})}
      config.concurrency = PLAN.fetch(:concurrency, 4)
      config.max_messages = PLAN.fetch(:max_messages, 100)
      config.shutdown_timeout = PLAN.fetch(:shutdown_timeout, 20_000)
      config.logger = Logger.new(PLAN.fetch(:log), level: Logger::DEBUG)
      PLAN.fetch(:config, {}).each { |name, value| config.public_send(:"#{name}=", value) }
    end

    routes.draw do
      PLAN.fetch(:topics).each do |name|
        topic(name) do
          consumer Consumer
          dead_letter_queue(topic: PLAN[:dead_letters], max_retries: 0) if PLAN[:dead_letters]
        end
      end
    end
  end
end

monitor = Ledger::App.monitor
monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(Ledger::App.logger))
monitor.subscribe("rebalance.partitions_assigned") { |event|
  event[:tpl].each { |topic, partition|
    Ledger.write("A", topic, partition)
  }
}
monitor.subscribe("rebalance.partitions_revoke") { |event|
  event[:tpl].each { |topic, partition|
    Ledger.write("R", topic, partition, -1, event[:lost] ? 1 : 0)
  }
}
monitor.subscribe("rebalance.partitions_revoked") { |event|
  event[:tpl].each { |topic, partition|
    Ledger.write("G", topic, partition, -1, event[:lost] ? 1 : 0)
  }
}
monitor.subscribe("offsets.committed") { |event|
  event[:offsets].each { |topic, partition, offset|
    Ledger.write("C", topic, partition, offset)
  }
}
Ledger.write("P", "-", ::Process.pid)
# Once booted, it waits for a file if it is to join in the middle of something.
sleep(0.005) until Ledger::PLAN[:gate].nil? || File.exist?(Ledger::PLAN[:gate])
code = Ledger::App.run!
Ledger.write("X", "-", code)
exit code
