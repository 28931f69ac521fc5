# frozen_string_literal: true

# A process that moves delayed messages on and consumes their target. Writes a line for each message that arrives: its payload,
# its id, the time at which it was due, and the time now. One write per line, so that nothing of it is lost with the process.
#
# PENSTOCK_DELAYS: JSON with `kafka`, `group`, `delays`, `target` and `journal`.

require "json"
require "logger"
require "penstock"

PLAN = JSON.parse(ENV.fetch("PENSTOCK_DELAYS"), symbolize_names: true)
JOURNAL = File.open(PLAN.fetch(:journal), "a").tap { |file| file.sync = true }

class ArrivalsConsumer < Penstock::BaseConsumer
  def consume
    messages.each do |message|
      headers = message.raw_headers
      now = Penstock::Clock::SYSTEM.wall_ms
      JOURNAL.write("#{message.raw_payload} #{headers["penstock_delay_id"]} #{headers["penstock_delay_until"]} #{now}\n")
    end
  end
end

class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = config.group_id = PLAN.fetch(:group)
    config.kafka = PLAN.fetch(:kafka)
    config.shutdown_timeout = 30_000
    config.logger = Logger.new($stderr)
  end

  routes.draw do
    topic(PLAN.fetch(:target)) { consumer ArrivalsConsumer }
    delay_topics delays: PLAN.fetch(:delays)
  end
end

exit PenstockApp.run!
