# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/rails_application"

# Database connections of code that runs on workers, in child processes and in the nodes of a swarm.
class RailsDatabaseTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  BATCHES = Integer(ENV.fetch("PENSTOCK_RAILS_BATCHES", "2000"))
  # Each part queries the database by a connection that it leases until the end of its call; a record in ten fails once, and the
  # strategy decides to try it again.
  ROUTES = <<~RUBY
    topic(ENV.fetch("TOPIC")) do
      consumer OrdersConsumer
      consumer_persistence false
      max_messages 1
      pause timeout: 1, max_timeout: 1
      filter ->(_topic, _partition) { OrdersFilter.new }
      dead_letter_queue topic: false, strategy: ->(_errors, _attempt) { Order.any_leased? ? :retry : :skip }
      EXECUTION
    end
  RUBY
  CONSUMER = <<~'RUBY'
    class OrdersConsumer < ApplicationConsumer
      def initialized
        note("leaked by an earlier call") if Order.connection_pool.active_connection?
        Order.any_leased?
      end

      def consume
        return note("stat #{ActiveRecord::Base.connection_pool.stat.to_json}|#{Thread.list.size}|#{Process.pid}") if stat?
        raise "no order" unless Order.any_leased?
        raise "now and then" if attempt == 1 && messages.first.raw_payload.end_with?("7")
        note("consumed #{messages.first.raw_payload}")
      end
      HOOK

      def stat? = messages.first.raw_payload.start_with?("stat")
    end
  RUBY

  FILTER = <<~RUBY
    class OrdersFilter < Penstock::Filter
      def apply!(messages)
        messages.clear unless Order.any_leased?
      end
    end
  RUBY
  MODEL = <<~RUBY
    class Order < ApplicationRecord
      def self.any_leased? = connection.select_value("SELECT COUNT(*) FROM orders").positive?
    end
  RUBY

  # Of a process's connection pool, while a call runs.
  Stat = Struct.new(:connections, :busy, :waiting, :threads, :pid)

  def prepare(execution, hook: "def revoked = note(\"revoked \#{Order.any_leased?}\")", **more)
    application(routes: ROUTES.sub("EXECUTION") { execution }, **more)
    write("app/consumers/orders_consumer.rb", CONSUMER.sub("HOOK") { hook })
    write("app/consumers/orders_filter.rb", FILTER)
    write("app/models/order.rb", MODEL)
    runner("ActiveRecord::Schema.verbose = false; ActiveRecord::Schema.define { create_table(:orders) }; Order.create!")
  end

  def produce(*payloads, partitions: 4)
    messages = payloads.each_with_index.map { |payload, index| {topic: @topic, payload: payload, partition: index % partitions} }
    deliver(cluster.kafka, messages)
  end

  def stats
    journal.grep(/\Astat/).map do |line|
      json, threads, pid = line.delete_prefix("stat ").split("|")
      Stat.new(*JSON.parse(json).values_at("connections", "busy", "waiting"), Integer(threads), pid)
    end
  end

  # @return [Stat]
  def stat(server)
    before = stats.size
    produce("stat", partitions: 1)
    server.await("a stat") { stats.size > before }
    stats.last
  end

  def consume_all(server)
    payloads = Array.new(BATCHES) { |n| "m#{n}" }
    payloads.each_slice(2_500) { |some| produce(*some) }
    server.await("all records", 240) { journal.count { |line| line.start_with?("consumed") } >= BATCHES }

    assert_empty journal.grep(/leaked/)
    assert_equal payloads.sort, journal.grep(/consumed/).map { |line| line.delete_prefix("consumed ") }.sort
  end

  test "batches whose consumer, filter, strategy, initialized and revoked query the database keep no connection and no thread" do
    prepare("parallel by: :message")
    server = serve(RAILS_ENV: "production")
    produce(*Array.new(100, "warm"))
    server.await("the first") { journal.count("consumed warm") == 100 }
    before = stat(server)
    File.write(File.join(@dir, "journal"), "")
    consume_all(server)
    after = stat(server)

    assert_equal [1, 0], [after.busy, after.waiting], "the call itself has the only connection in use"
    assert_operator after.connections, :<=, 6
    assert_operator after.threads, :<=, [before.threads, 1].max + 4, "workers are started as they are needed, up to concurrency"
    other = serve(RAILS_ENV: "production")
    server.await("a revocation", 60) { journal.include?("revoked true") }
    assert_equal [1, 0], stat(server).to_a[1, 2]
    [server, other].each { |each| stop(each) }
    refute_match(/ConnectionTimeoutError|BusyException|database is locked/, log)
  end

  test "child processes of run_on :processes have connections of their own, and keep none of their calls" do
    prepare("run_on :processes, max: 2\nparallel by: :message", hook: "")
    server = serve(RAILS_ENV: "production")
    consume_all(server)
    found = Array.new(4) { stat(server) }

    found.each { |stat| assert_equal [1, 1, 0], stat.to_a.first(3) }
    refute_includes found.map(&:pid), server.pid.to_s
    stop(server)
    refute_match(/ConnectionTimeoutError|BusyException|database is locked|malformed/, log)
  end

  test "a swarm of three that opened a connection while it loaded forks nodes without it" do
    prepare("", settings: "config.swarm.nodes = 3")
    write("config/penstock.rb", "#{boot(routes: ROUTES.sub("EXECUTION", ""), settings: "config.swarm.nodes = 3")}\n#{<<~'RUBY'}")
      def note_connections(name)
        files = Dir.children("/proc/self/fd").count { |fd| File.readlink("/proc/self/fd/#{fd}").include?("sqlite3") rescue false }
        File.write(ENV.fetch("JOURNAL"), "#{name} #{ActiveRecord::Base.connection_pool.stat[:connections]} #{files}\n", mode: "a")
      end
      PenstockApp.monitor.subscribe("app.initialized") { Order.any_leased? && note_connections("loaded") if PenstockApp.node.nil? }
      PenstockApp.monitor.subscribe("app.before_warmup") { note_connections("before fork") }
      PenstockApp.monitor.subscribe("swarm.node.after_fork") { note_connections("node") }
    RUBY
    server = penstock_process("swarm", RAILS_ENV: "production")
    server.await("three nodes") { journal.count("node 0 0") == 3 }
    produce(*Array.new(400) { |n| "m#{n}" })
    server.await("all records", 120) { journal.count { |line| line.start_with?("consumed") } >= 400 }
    stop(server)

    assert_match(/\Aloaded 1 [1-9]\nbefore fork 0 0\z/, journal.grep(/loaded|fork/).join("\n"))
    refute_match(/ConnectionTimeoutError|BusyException|database is locked|malformed/, log)
  end
end
