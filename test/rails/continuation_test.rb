# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/rails_application"

# Jobs that are interrupted and continue in another process (Rails 8.1's ActiveJob::Continuable).
class RailsContinuationTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  extend Penstock::TestSupport::EmbeddedBroker::OnePerClass

  PARTITIONS = 4
  ROUTES = "active_job_topic ENV.fetch(\"TOPIC\")"
  CONFIGURATION = <<~RUBY
    require "#{ROOT}/test/support/wait"
    config.active_job.queue_adapter = :penstock
  RUBY
  # Topics through which a job goes that waits.
  DELAYS = (1..8)

  # Counts and notes each number: a job that continues at its cursor repeats none and leaves none out. From 5 on it waits for a
  # stop, or for the file "finish", with which it ends.
  JOB = <<~'RUBY'
    class CountJob < ActiveJob::Base
      include ActiveJob::Continuable
      include Penstock::TestSupport::Wait
      OPTIONS

      queue_as ENV.fetch("TOPIC")
      penstock_options partition_by: ->(job) { job.arguments.first }, partition_key_type: :partition

      def perform(name)
        step(:prepare) { note(name, "prepared") }
        step(:count, start: 0) do |step|
          until File.exist?("finish")
            note(name, step.cursor)
            wait_until(90) { step.cursor < 5 || queue_adapter.stopping? || File.exist?("finish") }
            step.advance!
          end
        end
        note(name, "done")
      end

      private

      def note(name, what)
        File.write(ENV.fetch("JOURNAL"), "#{name} #{what} #{ENV.fetch("PROCESS")}\n", mode: "a")
      end
    end
  RUBY

  def setup
    super
    skip "ActiveJob::Continuable is a part of Rails 8.1; this is #{VERSION}" if Gem::Version.new(VERSION) < Gem::Version.new("8.1")
    DELAYS.each { |number| cluster.create_topic("#{@topic}.delay.#{number}", partitions: 1) }
  end

  # @param options [String] lines for the job's class
  def counting(options = "")
    application(configuration: CONFIGURATION, routes: ROUTES)
    write("app/jobs/count_job.rb", JOB.sub("OPTIONS") { options })
  end

  def enqueue(*names) = runner("#{names.inspect}.each { |name| CountJob.perform_later(name) }")

  def serve(name)
    before = log.scan("running (pid").size
    penstock_process("server", PROCESS: name).tap do |server|
      server.await("partitions") do
        raise Minitest::Assertion, "the server has ended: #{server.tail}" if server.ended?
        log.scan("running (pid").size > before
      end
    end
  end

  def finish = File.write(File.join(@dir, "finish"), "")

  # @return [Array<(String, String)>] what a job noted, and in which process
  def notes(name) = journal.map(&:split).select { |line| line.first == name.to_s }.map { |line| line.last(2) }

  def assert_uninterrupted(name)
    seen = notes(name).map(&:first)
    numbers = seen[1..-2]

    assert_equal ["prepared", *(0...numbers.size).map(&:to_s), "done"], seen
  end

  def processes(name) = notes(name).map(&:last).uniq

  test "a stop interrupts a job; another process continues it at its cursor" do
    counting
    server = serve("first")
    enqueue(0)
    await_journal(server, "0 5 first")
    stop(server)

    refute_includes notes(0).map(&:first), "done"
    server = serve("second")
    await_journal(server, /\A0 \d+ second/)
    finish
    await_journal(server, "0 done second")
    stop(server)

    assert_uninterrupted(0)
    assert_equal %w[first second], processes(0)
  end

  test "a rebalance interrupts the jobs of the partitions that move, and no others; they continue where these are now" do
    counting("self.resume_options = {wait: 0}")
    names = (0...PARTITIONS).to_a
    first = serve("first")
    enqueue(*names)
    names.each { |name| await_journal(first, "#{name} 5 first") }
    second = serve("second")
    second.await("two jobs in the second process") { names.count { |name| processes(name).include?("second") } == 2 }
    finish
    names.each { |name| await_journal(second, /\A#{name} done/) }
    [first, second].each { |server| stop(server) }

    names.each { |name| assert_uninterrupted(name) }
    assert_equal [%w[first], %w[first], %w[first second], %w[first second]], names.map { |name| processes(name) }.sort
  end
end
