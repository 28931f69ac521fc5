# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "penstock/outbox/migration"
require "support/kafka_server"
require "support/rails_application"
require "support/rails_job_outage"

# A Rails application enqueues and performs jobs while its only broker is stopped for 20 seconds.
class RailsJobOutageTest < Penstock::TestCase
  include Penstock::TestSupport::RailsApplication

  KafkaServer = Penstock::TestSupport::KafkaServer
  OUTAGE_SECONDS = 20
  CONFIGURATION = "config.active_job.queue_adapter = :penstock"
  ROUTES = "active_job_delays false\n active_job_topic ENV.fetch(\"TOPIC\")"
  Programs = Penstock::TestSupport::RailsJobOutage

  # The outcome of an enqueued job, as the enqueuer wrote it.
  Outcome = Struct.new(:job, :number, :word, :seconds, :error, :message) do
    def enqueued? = word == "enqueued"
  end

  def self.cluster = nil

  def setup
    super
    obstacle = KafkaServer.obstacle
    skip obstacle if obstacle
    @kafka = KafkaServer.new(jvm: KafkaServer::TEST_JVM)
    @kafka.start
  end

  def teardown
    super
  ensure
    @kafka&.stop
  end

  test "[Active Job outage] perform_later waits for the broker, or raises what to do about it, and a job of the outbox is enqueued; " \
    "a job that runs ends; afterwards each enqueued job is performed once" do
    prepare
    processes = [serve, penstock_process("outbox"), enqueuer = started_enqueuer]
    await(processes, "jobs of all classes") { %w[Patient Quick Outbox].all? { |name| done("#{name}Job").size >= 5 } }
    outage { assert_outage(processes) }
    await(processes, "jobs after the outage") { enqueued.all? { |name, list| list.size >= @before.fetch(name) + 5 } }
    write("stop", "")
    assert_equal 0, enqueuer.code(60), enqueuer.tail
    await(processes.first(2), "all jobs") { enqueued.all? { |name, numbers| (numbers - done(name)).empty? } }
    processes.first(2).each { |process| stop(process) }

    assert_performed_once
    assert_waits
    assert_refusals
    assert_includes log, "no connection to #{@kafka.bootstrap_servers}, TCP failed: Connection refused. Nothing listens there"
  end

  private

  def kafka = {"bootstrap.servers": @kafka.bootstrap_servers}

  # A machine that is busy starts the broker slowly; after `session.timeout.ms` (45 s) the group would be joined again, and what
  # hadn't been committed before would run again.
  def rails_environment(**more) = super(KAFKA: JSON.generate({**kafka, "session.timeout.ms": 300_000}), **more)

  def prepare
    application(configuration: CONFIGURATION, routes: ROUTES)
    write("app/jobs/application_job.rb", "")
    Programs::JOBS.split(/^(?=class )/).each { |code| write("app/jobs/#{code[/class (\w+)Job/, 1].downcase}_job.rb", code) }
    Penstock::Admin.open(kafka) { |admin| [@topic, "#{@topic}.dead"].each { |name| admin.create_topic(name, 3, 1) } }
    runner("#{Penstock::Outbox::Migration.source(version: "7.1")}\nCreatePenstockOutbox.migrate(:up)")
  end

  def started_enqueuer
    write("enqueuer.rb", Programs::ENQUEUER)
    command = [RbConfig.ruby, "-rbundler/setup", "enqueuer.rb"]
    started(Penstock::TestSupport::Served::Process.new(command, dir: @dir, env: rails_environment))
  end

  def await(processes, what, seconds = 60)
    processes.first.await(what, seconds) do
      ended = processes.find(&:ended?)
      raise Minitest::Assertion, "a process has ended: #{ended.tail}" if ended
      yield
    end
  end

  def outage
    @kafka.stop(keep: true)
    ends = now + OUTAGE_SECONDS
    yield
    observe_for([ends - now, 0].max)
    @before = enqueued.transform_values(&:size)
    @kafka.start
  end

  def assert_outage(processes)
    refused = outcomes.count { |one| !one.enqueued? }
    before = enqueued.fetch("OutboxJob").size
    write("release", "")
    await(processes, "the end of the job that runs") { done("LongJob") == [0] }
    await(processes, "jobs of the outbox") { enqueued.fetch("OutboxJob").size >= before + 10 }
    await(processes, "jobs that are refused") { outcomes.count { |one| !one.enqueued? } >= refused + 2 }
  end

  def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

  # @return [Array<Outcome>]
  def outcomes
    path = File.join(@dir, "outcomes")
    File.exist?(path) ? File.readlines(path).map { |line| Outcome.new(*JSON.parse(line)) } : []
  end

  # @return [Hash{String => Array<Integer>}] numbers of the jobs that were enqueued
  def enqueued = outcomes.select(&:enqueued?).group_by(&:job).transform_values { |list| list.map(&:number) }

  # @return [Array<Integer>] numbers of the jobs that were performed
  def done(name) = journal.filter_map { |line| Integer(line.split.last) if line.start_with?("done #{name} ") }

  def assert_performed_once
    twice = journal.tally.select { |_line, times| times > 1 }
    assert_empty twice
    enqueued.each { |name, numbers| assert_empty numbers - done(name), name }
  end

  def assert_waits
    patient, outbox = %w[PatientJob OutboxJob].map { |name| outcomes.select { |one| one.job == name } }
    assert(patient.all?(&:enqueued?))
    assert(outbox.all?(&:enqueued?))
    assert_operator patient.map(&:seconds).max, :>=, OUTAGE_SECONDS / 2
  end

  # Those that were on their way when the broker went or came may be stored.
  def assert_refusals
    refused = outcomes.reject(&:enqueued?)
    expected = "#{@topic}: Local: Message timed out (msg_timed_out). It wasn't acknowledged within message.timeout.ms: check " \
      "bootstrap.servers, and that the topic exists. The client's last error: "
    refused.each { |one| assert_equal ["Penstock::ProduceError", expected], [one.error, one.message[0, expected.size]] }
    assert_operator (refused.map(&:number) & done("QuickJob")).size, :<=, 2
    assert_match(/Failed enqueuing QuickJob to Penstock\(#{@topic}\): Penstock::ProduceError/, log)
  end
end
