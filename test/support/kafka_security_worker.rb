# frozen_string_literal: true

# An ordinary application in a process of its own: it forwards what it consumes from one topic to another, and consumes
# that one too. It writes each record that arrives there as a line of a file. Its plan comes in PENSTOCK_PLAN as JSON.

require "json"
require "penstock"
require_relative "planned"

module Forwarding
  extend Penstock::TestSupport::Planned

  PLAN = plan("PENSTOCK_PLAN")
  JOURNAL = journal(PLAN.fetch(:arrived))

  # Produces what it consumes.
  class Forward < Penstock::BaseConsumer
    def consume
      messages.each { |message| producer.produce_sync(topic: PLAN.fetch(:to), payload: message.raw_payload) }
    end
  end

  # Records what it consumes in the file.
  class Arrive < Penstock::BaseConsumer
    def consume
      messages.each { |message| Forwarding.write(message.raw_payload) }
    end
  end

  # Returns unsigned tokens, which a broker for tests accepts.
  class Tokens
    LIFE_S = 5

    def on_oauthbearer_token_refresh(event)
      now = Time.now.to_f
      claims = {sub: "app", iat: now, exp: now + LIFE_S}
      token = [{alg: "none"}, claims].map { |part| [JSON.generate(part)].pack("m0").tr("+/", "-_").delete("=") }
      event[:bearer].oauthbearer_set_token(token: "#{token.join(".")}.", lifetime_ms: Integer((now + LIFE_S) * 1_000),
        principal_name: "app")
    end
  end

  # The application of the process.
  class App < Penstock::App
    setup do |config|
      config.client_id = "forwarding"
      config.group_id = PLAN.fetch(:group)
      config.kafka = PLAN.fetch(:kafka)
      config.logger = Logger.new(PLAN.fetch(:log), level: Logger::DEBUG)
      config.shutdown_timeout = 10_000
      config.oauth.token_provider_listener = Tokens.new if PLAN[:tokens]
    end

    routes.draw do
      topic(PLAN.fetch(:from)) { consumer Forward } if PLAN[:from]
      topic(PLAN.fetch(:to)) { consumer Arrive } if PLAN[:to]
      pattern(Regexp.new(PLAN.fetch(:pattern))) { consumer Arrive } if PLAN[:pattern]
    end
  end
end

app = Forwarding::App
app.monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(app.logger, log_messages: true))
app.monitor.subscribe("statistics.emitted") { |event| app.logger.debug { "statistics #{event[:statistics].inspect}" } }
app.monitor.subscribe("error.occurred") { |event| app.logger.debug { "error #{event[:error].inspect} #{event.payload.keys}" } }
[app, app.config, app.config.kafka, app.producer, app.application, app.application.routes].each do |object|
  app.logger.debug { "inspected: #{object.inspect} #{object}" }
end
exit app.run!
