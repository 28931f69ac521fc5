# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/rails_application"

# Lines of the log, reports to Rails.error, warnings, and what is refused.
class RailsLoggingTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  # Fails as long as its record's number of attempts isn't reached.
  CONSUMER = <<~'RUBY'
    class OrdersConsumer < ApplicationConsumer
      def consume
        payload = messages.first.raw_payload
        Rails.logger.info("line about #{payload}")
        OrderJob.perform_later(payload) if payload == "job"
        raise ArgumentError, "attempt #{attempt} of #{payload}" if payload.start_with?("bad")
        note("consumed #{payload}")
      end
    end
  RUBY
  JOB = <<~'RUBY'
    class OrderJob < ActiveJob::Base
      def perform(text)
        Rails.logger.info("performed #{text}")
        File.write(ENV.fetch("JOURNAL"), "job #{text}\n", mode: "a")
      end
    end
  RUBY
  SUBSCRIBER = <<~'RUBY'
    class Reports
      def report(error, handled:, severity:, context:, source: nil)
        text = [error.message, handled, severity, source, context.slice(:topic, :partition, :offset, :attempt, :consumer).values]
        File.write(ENV.fetch("JOURNAL"), "reported #{text.to_json}\n", mode: "a")
      end
    end
    Rails.error.subscribe(Reports.new)
  RUBY
  ROUTES = <<~RUBY
    topic(ENV.fetch("TOPIC")) do
      consumer OrdersConsumer
      max_messages 1
      pause timeout: 1, max_timeout: 1
      EXECUTION
    end
  RUBY

  def prepare(execution = "", **more)
    application(routes: ROUTES.sub("EXECUTION") { execution }, **more)
    write("app/consumers/orders_consumer.rb", CONSUMER)
    write("app/jobs/order_job.rb", JOB)
    write("config/initializers/reports.rb", SUBSCRIBER)
  end

  def produce(*payloads) = deliver(cluster.kafka, payloads.map { |payload| {topic: @topic, payload: payload, partition: 0} })

  def reports = journal.grep(/\Areported/).map { |line| JSON.parse(line.delete_prefix("reported ")) }

  test "in development the log is on the terminal too: each line once, and a job runs once" do
    prepare
    server = serve
    produce("job")
    await_journal(server, "consumed job")
    stop(server)

    assert_equal ["job job"], journal.grep(/\Ajob/)
    ["line about job", "performed job"].each do |line|
      assert_equal [1, 1], [server.log.scan(line).size, log.scan(line).size], line
    end
    assert_match(/^\[#{@topic}\] line about job$/, log)
    assert_match(/^\[#{@topic}\] line about job$/, server.log)
  end

  test "a terminal log can be switched on and off, and is off in production" do
    prepare(configuration: "config.penstock.log_to_terminal = ENV.key?(\"LOUD\") || (Rails.env.development? ? false : nil)")
    [[{}, 0], [{RAILS_ENV: "production"}, 0], [{RAILS_ENV: "production", LOUD: "1"}, 1]].each_with_index do |(env, times), index|
      File.write(File.join(@dir, "log/development.log"), "")
      File.write(File.join(@dir, "log/production.log"), "")
      server = serve(**env)
      produce("m#{index}")
      await_journal(server, "consumed m#{index}")
      stop(server)

      assert_equal [times, 1], [server.log, log].map { |text| text.scan("line about m#{index}").size }, env
    end
  end

  test "errors are reported with their place at the first attempt and at the last, and logged each time" do
    prepare("dead_letter_queue topic: false, max_retries: 3")
    server = serve
    produce("bad", "good")
    await_journal(server, "consumed good")
    stop(server)

    expected = [1, 4].map do |attempt|
      ["attempt #{attempt} of bad", false, "error", "application.penstock", [@topic, 0, 0, attempt, "OrdersConsumer"]]
    end
    assert_equal expected, reports
    (1..4).each { |attempt| assert_includes log, "attempt #{attempt} of bad" }
  end

  test "config.penstock.report = :each reports each attempt; of a record that a strategy skips, the last is reported anyway" do
    decision = "dead_letter_queue topic: false, strategy: ->(_errors, attempt) { attempt == 3 ? :skip : :retry }"
    prepare(decision, configuration: "config.penstock.report = :each if ENV.key?(\"EACH\")")
    server = serve
    produce("bad1", "good1")
    await_journal(server, "consumed good1")
    stop(server)
    assert_equal ["attempt 1 of bad1", "attempt 3 of bad1"], reports.map(&:first)

    server = serve(EACH: "1")
    produce("bad2", "good2")
    await_journal(server, "consumed good2")
    stop(server)
    assert_equal ["attempt 1 of bad2", "attempt 2 of bad2", "attempt 3 of bad2"], reports.drop(2).map(&:first)
  end

  test "an error in a child process is reported by the application, once" do
    prepare("run_on :processes, max: 1\ndead_letter_queue topic: false, max_retries: 0")
    server = serve
    produce("bad", "good")
    await_journal(server, "consumed good")
    stop(server)

    assert_equal [["attempt 1 of bad", [@topic, 0, 0, 1]]], reports.map { |report| [report.first, report.last.first(4)] }
  end

  test "a pool that is smaller than the calls at once is warned of with the number, and fails doctor" do
    prepare
    server = serve(POOL: "5", CONCURRENCY: "7")
    stop(server)
    warning = "config/database.yml, primary: its pool has 5 connections, but 8 calls may run at once " \
      "(concurrency 7, one for hooks)"
    assert_includes log, warning
    assert_includes log, "Set pool: 8, or lower config.concurrency"

    doctor = penstock_command("doctor", POOL: "5", CONCURRENCY: "7")
    assert_equal 1, doctor.code, doctor.out + doctor.err
    assert_includes doctor.out, "its pool has 5 connections"
    doctor = penstock_command("doctor", POOL: "8", CONCURRENCY: "7")
    assert_equal 0, doctor.code, doctor.out + doctor.err
  end

  test "run_on :fibers is refused while Rails keeps its state per thread" do
    prepare("run_on :fibers, max: 5")
    refused = penstock_command("info")
    assert_equal 1, refused.code
    assert_includes refused.err + refused.out, "Write `config.active_support.isolation_level = :fiber` into config/application.rb"
  end

  test "run_on :fibers runs with isolation_level :fiber" do
    prepare("run_on :fibers, max: 5", configuration: "config.active_support.isolation_level = :fiber")
    server = serve
    produce("good")
    await_journal(server, "consumed good")
    stop(server)
  end
end
