# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/admin"
require "support/active_job_faults"
require "support/embedded_broker"
require "support/real_broker"
require "support/ruby_program"
require_relative "../../contract/failing/failing_contract"

module Penstock
  # Jobs of all kinds while their process is killed again and again: PENSTOCK_JOBS of them, PENSTOCK_KILLS times. `bin/ledger T39`
  # runs 10,000 on three brokers.
  class ActiveJobFaultsTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include FailingContract

    def self.limit_seconds = 1_500

    JOBS = Integer(ENV.fetch("PENSTOCK_JOBS", "300"))
    KILLS = Integer(ENV.fetch("PENSTOCK_KILLS", "2"))
    PARTITIONS = 3
    SERVER = File.expand_path("../../support/fault_runs/programs/jobs.rb", __dir__)
    Faults = TestSupport::ActiveJobFaults

    def native = super.slice("bootstrap.servers")

    def setup
      super
      GlobalID.app = "penstock"
      ::ActiveJob::Base.logger = Logger.new(nil)
      Penstock::ActiveJob.current_attributes = [Faults::Current]
      @folder = Faults.folder = Dir.mktmpdir
      @topic, @dead = unique("jobs").then { |name| [name, "#{name}-dead"] }
      create_topic(@topic, PARTITIONS)
      create_topic(@dead, 1)
    end

    def teardown
      end_server
      super
    end

    test "[Active Job faults] missing classes, bad arguments, deleted records, jobs that kill, and kill -9 again and again: each job is " \
      "performed, discarded or dead-lettered, none is lost, and none runs again after its commit" do
      enqueue_all_kinds
      killed = []
      start_server
      KILLS.times do |index|
        wait_until(120, "progress to kill #{index + 1}", state: -> {
          log_tail
        }) { restarted || begun >= (index + 1) * JOBS / (KILLS + 2) }
        killed << kill_server
        start_server
      end
      wait_until(400, "the end of the queue", state: -> { [begun, log_tail] }) do
        restarted || all_committed?
      end
      end_server

      assert_outcomes
      assert_no_run_after_commit(killed)
      assert_attributes
    end

    test "jobs in processes of a pool are performed, retried and dead-lettered" do
      @enqueued = kinds(20, without: [:killer, :killing])
      produce_jobs
      start_server(route: {run_on: {kind: "processes", max: 2}})
      wait_until(90, "the end of the queue", state: -> { log_tail }) { all_committed? }
      end_server

      assert_outcomes
      assert_attributes
    end

    private

    # -- enqueueing --

    KINDS = {failing: 3, missing: 5, arguments: 7, gone: 11, discarded: 13, retried: 17}.freeze
    private_constant :KINDS

    # @return [Hash{Integer => Symbol}]
    def kinds(count, without: [])
      all = (0...count).to_h { |number| [number, KINDS.key(number % 20) || :good] }
      all[count / 4] = :killing
      all[count / 2] = :killer
      all.transform_values { |kind| without.include?(kind) ? :good : kind }
    end

    def enqueue_all_kinds
      @enqueued = kinds(JOBS)
      produce_jobs
    end

    def produce_jobs
      application = build_empty({})
      ::ActiveJob::Base.queue_adapter = ::ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { application.producer })
      jobs = @enqueued.map { |number, kind| Faults::Current.set(number: number) { job_of(number, kind) } }
      ::ActiveJob.perform_all_later(jobs)
      @ids = @enqueued.keys.zip(jobs.map(&:job_id)).to_h

      assert_equal @enqueued.size, @ids.values.uniq.size
      @last = jobs.map { |job| job.provider_job_id.split("/").last(2).map(&:to_i) }.group_by(&:first)
    ensure
      application.producer.close
    end

    # Attributes are taken where a job is serialized: each must have its own.
    module Numbered
      def serialize = Faults::Current.set(number: @number) { super }
    end
    private_constant :Numbered

    def job_of(number, kind)
      job = {good: Faults::Good, retried: Faults::Retried, discarded: Faults::Discarded, failing: Faults::Failing,
             missing: Faults::Good, arguments: Faults::Good, gone: Faults::Good, killing: Faults::Killing, killer: Faults::Killing}
        .fetch(kind).new(*arguments_of(number, kind)).set(queue: @topic)
      job.instance_variable_set(:@number, number)
      job.singleton_class.prepend(Numbered)
      job.define_singleton_method(:serialize) { super().merge("job_class" => Faults::MISSING) } if kind == :missing
      job
    end

    def arguments_of(number, kind)
      case kind
      when :arguments then [number, :too, :many]
      when :gone then [Faults::Gone.new(number.to_s)]
      when :killing then [number, false]
      when :killer then [number, true]
      else [number]
      end
    end

    # -- the server --

    def start_server(**plan)
      plan = {kafka: kafka.merge("auto.commit.interval.ms": 100, "session.timeout.ms": 6_000, "heartbeat.interval.ms": 500),
              group: group, topic: @topic, folder: @folder, settings: {concurrency: 4}, **plan}
      @log = File.join(@folder, "log")
      @plan = plan
      @pid = ::Process.spawn({"PENSTOCK_PLAN" => JSON.generate(plan), "PENSTOCK_BOOT_FILE" => SERVER},
        *TestSupport::RubyProgram.command(SERVER), %i[out err] => [@log, "a"])
      (@started ||= []) << @pid
    end

    # A job may kill it too.
    # @return [nil]
    def restarted
      return unless @pid && ::Process.wait(@pid, ::Process::WNOHANG)
      start_server(**@plan)
      nil
    end

    # @return [Hash{Integer => Array}] by partition: what had been committed when the process was dead, and the pid
    def kill_server
      ::Process.kill(:KILL, @pid)
      ::Process.wait(@pid)
      PARTITIONS.times.to_h { |partition| [partition, complete(partition)] }.merge(pid: @pid)
    end

    # @return [Proc] whether an offset is complete according to the commit
    def complete(partition)
      base = committed(@topic, partition)
      runs = committed_map(@topic, partition).completed.map { |from, upto| from...upto }
      ->(offset) { offset < base || runs.any? { |run| run.cover?(offset) } }
    end

    def end_server
      return unless @pid
      ::Process.kill(:TERM, @pid)
      ::Process.wait(@pid)
      @pid = nil
    rescue Errno::ESRCH, Errno::ECHILD
      @pid = nil
    end

    def all_committed?
      ends = ends_of(@topic)
      ends.all? { |partition, offset| committed(@topic, partition) == offset } && ends.values.sum >= @enqueued.size
    end

    def log_tail = File.readlines(@log).last(5)

    # -- journals --

    # @return [Array<Array>] pid, then the values of a line
    def journal
      Dir[File.join(@folder, "journal-*")].flat_map do |path|
        File.readlines(path, chomp: true).map { |line| [path[/\d+\z/].to_i, *JSON.parse(line)] }
      end
    end

    def begun
      Dir[File.join(@folder, "journal-*")].sum { |path| File.foreach(path).count { |line| line.start_with?('["begin') } }
    end

    # -- checks --

    def assert_outcomes
      ended = journal.select { |_pid, word, *| word == "end" }.group_by { |line| line[2] }
      letters = letters_by_job
      lost = @enqueued.reject do |number, kind|
        case kind
        when :good, :killing, :retried then ended.key?(number)
        when :discarded then journal_of(number).any?
        else letters.key?(@ids.fetch(number))
        end
      end

      assert_empty lost, log_tail.join
      assert_equal @enqueued.count { |_number, kind| %i[failing missing arguments gone killer].include?(kind) }, letters.size
      assert_equal [3], ended.values_at(*numbers(:retried)).map { |lines| lines.map { |line| line[5] }.max }.uniq
      killer = numbers(:killer).first and assert_equal "quarantined", letters.fetch(@ids.fetch(killer))["penstock_reason"]
    end

    def numbers(kind) = @enqueued.filter_map { |number, own| number if own == kind }
    def journal_of(number) = (@begun ||= journal.group_by { |line| line[2] }).fetch(number, [])

    # A killed process may have sent a letter without having committed its record: then there are two.
    def letters_by_job
      count = ends_of(@dead).values.sum
      letters(@dead, count).to_h { |letter| [JSON.parse(letter.raw_payload)["job_id"], letter.raw_headers] }
    end

    def assert_no_run_after_commit(killed)
      pids = killed.map { |state| state[:pid] }
      runs = journal.select { |_pid, word, *| word == "begin" }
      killed.each_with_index do |state, index|
        before = pids[0..index]
        again = runs.reject { |pid, *| before.include?(pid) || started_before?(pid, state.fetch(:pid)) }
          .select { |_pid, _word, _number, uid, *|
          uid.split("/").last(2).map(&:to_i).then { |partition, offset|
            state[partition].call(offset)
          }
        }
        assert_empty again, "runs after their commit, which kill #{index + 1} had seen"
      end
    end

    # Processes that a job has killed are between the others.
    def started_before?(pid, other) = @started.index(pid) < @started.index(other)

    def assert_attributes
      wrong = journal.reject { |line| line[2] == line.last || !line[2].is_a?(Integer) }
      assert_empty wrong
      ids = journal.group_by { |line| line[2] }.select { |number, _| number.is_a?(Integer) }
      ids.each { |number, lines| assert_equal [@ids.fetch(number)], lines.map { |line| line[4] }.uniq }
    end
  end
end
