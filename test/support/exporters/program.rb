# frozen_string_literal: true

# An application that does a bit of everything on a broker: it consumes, fails, dead-letters, skips, opens a breaker, performs a
# job, produces and relays an outbox. It writes what StatsD received, as JSON lines of kind, name, value and tags, and with
# HEALTH_PORT the last scrape of its page /metrics.
#
# Environment: BOOTSTRAP, NAMES (of metrics), AWAITED and SCRAPED (names that must appear), OUT (a file), HEALTH_PORT.

require "active_record"
require "active_job"
require "json"
require "logger"
require "net/http"
require "tmpdir"
require "penstock"
require "penstock/active_job"
require "penstock/monitors/stats_d"
require "penstock/outbox"
require "penstock/outbox/migration"
require_relative "../recording_statsd"
require_relative "../wait"

STATSD = Penstock::TestSupport::RecordingStatsd.new
CONSUMED = Thread::Queue.new
BROKEN = Thread::Queue.new

class OrdersConsumer < Penstock::BaseConsumer
  def consume = messages.each { |message| CONSUMED << message.payload }
  def tick = nil
end

class RefusingConsumer < Penstock::BaseConsumer
  def consume = raise(ArgumentError, "refused")
end

# Fails with errors of connections until it is repaired.
class ChargesConsumer < Penstock::BaseConsumer
  def consume
    raise Errno::ECONNREFUSED, "no bank" if BROKEN.empty?
  end
end

class PingJob < ActiveJob::Base
  queue_as :default

  def perform = nil
end

class ShopApp < Penstock::App
  setup do |config|
    config.group_id = "shop"
    config.logger = Logger.new(ENV.fetch("LOG", File::NULL))
    config.kafka = {"bootstrap.servers": ENV.fetch("BOOTSTRAP"), "statistics.interval.ms": 100, "fetch.wait.max.ms": 10,
                    "session.timeout.ms": 6_000, "auto.offset.reset": "earliest"}
    config.pause_timeout = config.pause_max_timeout = 100
    config.metrics = true if ENV.key?("HEALTH_PORT")
    config.health.port = Integer(ENV["HEALTH_PORT"]) if ENV.key?("HEALTH_PORT")
  end

  routes.draw do
    topic(:orders) do
      consumer OrdersConsumer
      periodic interval: 100
    end
    topic(:payments) do
      consumer RefusingConsumer
      dead_letter_queue topic: "payments.dead", max_retries: 1
    end
    topic(:refunds) do
      consumer RefusingConsumer
      dead_letter_queue topic: false, max_retries: 1
    end
    topic(:returns) do
      consumer RefusingConsumer
      retry_topics delays: [100], finally: false
    end
    topic(:charges) do
      consumer ChargesConsumer
      parallel by: :message # in order, each record would have to use up its retries before the next one fails
      dead_letter_queue topic: "charges.dead", max_retries: 100
    end
    active_job_topic :default
  end
end

ActiveJob::Base.logger = nil
ActiveJob::Base.queue_adapter = :penstock
Penstock::Monitors::StatsD.install(ShopApp, STATSD, names: ENV.fetch("NAMES", "penstock").to_sym)

def await(what, &) = Penstock::TestSupport::Wait.wait_until(40, what, state: -> { STATSD.names.join(" ") }, &)

# Waits until all these metrics are on the page.
def scrape
  text = ""
  Penstock::TestSupport::Wait.wait_until(20, "metrics on the page", state: -> { text }) do
    text = Net::HTTP.get("127.0.0.1", "/metrics", Integer(ENV.fetch("HEALTH_PORT")))
    ENV.fetch("SCRAPED").split.all? { |name| text.include?("# TYPE #{name} ") }
  end
  File.write("#{ENV.fetch("OUT")}.scrape", text)
end

# @yield while a relay runs
def with_relay
  Dir.mktmpdir do |folder|
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: File.join(folder, "shop.sqlite3"), timeout: 5_000)
    ActiveRecord::Migration.verbose = false
    eval(Penstock::Outbox::Migration.source(version: "7.1")) # rubocop:disable Security/Eval -- written by us
    CreatePenstockOutbox.migrate(:up)
    Penstock::Outbox.setup { |config| config.lag_interval = 100 }
    relay = Penstock::Outbox.start
    ActiveRecord::Base.transaction { Penstock::Outbox.enqueue(topic: "orders", payload: "\"from the outbox\"") }
    yield
  ensure
    relay&.stop
    ActiveRecord::Base.connection_pool.disconnect!
  end
end

server = Thread.new { ShopApp.run!(traps: false) }
server.abort_on_exception = true
%w[orders payments refunds returns charges].each do |topic|
  ShopApp.producer.produce_sync(topic: topic, payload: "1", partition: 0)
end
3.times { ShopApp.producer.produce_sync(topic: "charges", payload: "1", partition: 0) }
PingJob.perform_later
with_relay do
  await("all that is waited for") { ENV.fetch("AWAITED").split.all? { |name| STATSD.names.include?(name) } }
  scrape if ENV.key?("HEALTH_PORT")
end
BROKEN << false
ShopApp.stop!
server.value
ShopApp.producer.close
File.write(ENV.fetch("OUT"), STATSD.calls.map { |call| "#{JSON.generate(call.to_a)}\n" }.join)
exit!(STATSD.flushes.positive? ? 0 : 3)
