# frozen_string_literal: true

require "support/active_jobs"
require "support/command_line"
require "support/karafka_jobs/jobs"
require "support/rules"
require "support/served"
require_relative "../failing/failing_contract"

module Penstock
  # Jobs that go from Karafka's Active Job adapter to ours and back. Karafka runs in processes of its own, with the gems of
  # test/gemfiles/karafka.gemfile.
  module KarafkaJobsContract
    include FailingContract
    include TestSupport::ActiveJobs

    extend TestSupport::Rules

    PROGRAM = File.join(TestSupport::CommandLine::ROOT, "test/support/karafka_jobs/program.rb")
    GEMFILE = File.join(TestSupport::CommandLine::ROOT, "test/gemfiles/karafka.gemfile")
    GEMS = {"BUNDLE_GEMFILE" => GEMFILE, "BUNDLE_PATH" => File.join(TestSupport::CommandLine::ROOT, "vendor/bundle")}.freeze

    rule "[Karafka's jobs] jobs that Karafka's adapter has enqueued are performed here: arguments, locale, time zone, " \
      "attributes" do
      Penstock::ActiveJob.current_attributes = ["ExchangedJobs::Current"]
      performing
      karafka("enqueue").then { |process| assert_equal 0, process.code(60), process.tail }

      assert_performed_once("Penstock", await_rows(ExchangedJobs.all_arguments.size), @queue_name)
      await_committed(@queue_name, ExchangedJobs.all_arguments.size)
    end

    rule "[Karafka's jobs] jobs enqueued here are performed by Karafka: arguments, locale, time zone, attributes; a job that " \
      "failed here and is enqueued there by retry_on; those of a key come from one partition" do
      Penstock::ActiveJob.current_attributes = ["ExchangedJobs::Current"]
      Penstock::ActiveJob.current_attributes_for_karafka = true
      performing
      create_topic(theirs = unique("theirs"), 2)
      moved = to(ExchangedJobs::Moving).perform_later(theirs)
      failed = await_rows(1).first
      ExchangedJobs.enqueue_all(theirs)
      keyed = Array.new(6) { |index| Keyed.set(queue: theirs).perform_later("key", index) }
      server = karafka("perform", queue: theirs)
      rows = await_rows(ExchangedJobs.all_arguments.size + keyed.size + 2, server).drop(1)

      assert_keyed(keyed, rows)
      tries = [failed, *take_rows(rows, moved)]
      assert_equal [["Penstock", 1], ["Karafka", 2]], tries.map { |row| row.values_at("performer", "executions") }
      assert_performed_once("Karafka", rows, theirs)
      server.signal(:TERM)
      assert_equal 0, server.code(60), server.tail
      assert_equal ExchangedJobs.all_arguments.size + keyed.size + 1, committed_by(theirs)
    end

    # Jobs of a key, in two partitions.
    class Keyed < ExchangedJobs::Note
      penstock_options partition_by: ->(job) { job.arguments.first }

      # Karafka's process has the class without our options.
      def serialize = super.merge("job_class" => "ExchangedJobs::Note")
    end

    def setup
      super
      skip "Karafka is not installed: bin/setup prints why" unless File.exist?("#{GEMFILE}.lock")
      @folder = Dir.mktmpdir("penstock-karafka")
      ExchangedJobs.setup("Penstock", File.join(@folder, "journal"))
    end

    def teardown
      (@processes || []).each(&:close)
      FileUtils.rm_rf(@folder) if @folder
      super
    end

    # @param action [String] "enqueue" or "perform"
    # @return [TestSupport::Served::Process]
    def karafka(action, queue: @queue_name)
      plan = {action: action, queue: queue, group: queue, journal: ExchangedJobs.journal,
              bootstrap: kafka.fetch(:"bootstrap.servers")}
      env = TestSupport::CommandLine::CLEAN.merge(GEMS, "KARAFKA_ROOT_DIR" => @folder, "EXCHANGE_PLAN" => JSON.generate(plan))
      TestSupport::Served::Process.new([RbConfig.ruby, "-rbundler/setup", PROGRAM], dir: @folder, env: env)
        .tap { |process| (@processes ||= []) << process }
    end

    # @return [Array<Hash>] the journal, as soon as it has that many lines
    def await_rows(count, process = nil)
      wait_until(60, "#{count} jobs", state: -> { [journal, process&.tail] }) do
        raise Minitest::Assertion, "Karafka has ended: #{process.tail}" if process&.ended?
        journal.size >= count
      end
      journal
    end

    def journal
      File.exist?(ExchangedJobs.journal) ? File.readlines(ExchangedJobs.journal).map { |line| JSON.parse(line) } : []
    end

    def assert_performed_once(performer, rows, queue)
      assert_equal ExchangedJobs.all_arguments.sort, rows.map { |row| row["arguments"] }.sort
      assert_equal [[performer, queue, 1, "acme", 7]], rows.map { |row|
        row.values_at("performer", "queue", "executions", "tenant", "limit")
      }.uniq
      assert_equal({["de", "Europe/Berlin", nil] => ExchangedJobs::ARGUMENTS.size, ["en", nil, 5] => 3},
        rows.map { |row| row.values_at("locale", "zone", "priority") }.tally)
    end

    # In the order in which they were enqueued, from one partition.
    def assert_keyed(jobs, rows)
      ids = jobs.map(&:job_id)
      keyed, others = rows.partition { |row| ids.include?(row["job_id"]) }
      rows.replace(others)
      assert_equal ids, keyed.map { |row| row["job_id"] }
      assert_equal 1, jobs.map { |job| job.provider_job_id.split("/")[1] }.uniq.size
    end

    # @return [Array<Hash>] of the job, which are removed from the rows
    def take_rows(rows, job) = rows.select { |row| row["job_id"] == job.job_id }.each { |row| rows.delete(row) }

    # @return [Integer] how many records of the topic its group has completed
    def committed_by(topic)
      admin = Native::Admin.new(native)
      admin.committed_offsets(topic, [[topic, 0], [topic, 1]], 10_000).sum { |row| [row[2], 0].max }
    ensure
      admin&.close
    end
  end
end
