# frozen_string_literal: true

# A consumer that does what its records contain, including the worst. Its plan comes in PENSTOCK_KILLERS as JSON.

require "penstock"
require_relative "../planned"

module Killers
  extend Penstock::TestSupport::Planned

  PLAN = plan("PENSTOCK_KILLERS")
  JOURNAL = journal(PLAN.fetch(:journal))

  # kind, partition, offset and details
  def self.write(kind, partition, offset, more = 0) = super

  # A payload that can't be read without killing the process.
  class Deserializer
    def call(message)
      ::Process.kill(:KILL, ::Process.pid) && sleep if message.raw_payload == "deserialize"
      message.raw_payload
    end
  end

  class Consumer < Penstock::BaseConsumer
    def consume
      messages.each do |message|
        Killers.write("S", message.partition, message.offset, attempt)
        act(message.payload)
        Killers.write("E", message.partition, message.offset, attempt)
      end
    end

    private

    def act(payload)
      case payload
      when "KILL", "SEGV" then ::Process.kill(payload, ::Process.pid) && sleep
      when "exit!" then exit!(7)
      when "overflow" then act(payload.dup)
      when "loop" then loop { Thread.pass }
      when "stuck" then Thread.handle_interrupt(Exception => :never) { loop { Thread.pass } }
      else sleep(PLAN.fetch(:work_ms, 0) / 1000.0)
      end
    end
  end

  class App < Penstock::App
    setup do |config|
      config.client_id = "killers"
      config.group_id = PLAN.fetch(:group)
      config.kafka = {**PLAN.fetch(:kafka), "group.instance.id": "killers", "auto.offset.reset": "earliest"}
      config.concurrency = 4
      config.pause.timeout = 10
      config.pause.max_timeout = 10
      config.shutdown_timeout = 10_000
      config.logger = Logger.new(PLAN.fetch(:log), level: Logger::INFO)
    end

    routes.draw do
      topic(PLAN.fetch(:topic)) do
        consumer Consumer
        initial_offset "earliest"
        deserializers(payload: Deserializer.new)
        parallel by: :key if PLAN[:by] == "key"
        run_on :processes, max: 2 if PLAN[:processes]
        time_limit PLAN[:time_limit] if PLAN[:time_limit]
        quarantine max_crashes: 3 unless PLAN[:dead]
        dead_letter_queue(topic: PLAN[:dead], max_retries: PLAN.fetch(:max_retries, 5)) if PLAN[:dead]
      end
    end
  end
end

monitor = Killers::App.monitor
monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(Killers::App.logger))
{"dead_letter_queue.dispatched" => "D", "consumer.skipped" => "K", "consumer.quarantined" => "Q",
 "consumer.suspected" => "W"}.each do |name, kind|
  monitor.subscribe(name) do |event|
    Killers.write(kind, event[:partition], event[:offset], event[:crashes] || event[:unclean] || 0)
  end
end
exit Killers::App.run!
