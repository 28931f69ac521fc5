# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock"
require "penstock/active_job"
require "active_job"
require "penstock/testing/minitest"
require "support/whole_application"

module Penstock
  # Jobs of Active Job are performed by a run, on the test's thread.
  class MemoryRunnerJobsTest < TestCase
    include TestSupport::WholeApplication
    include Testing::Minitest

    class Note < ::ActiveJob::Base
      class << self
        attr_accessor :done
      end

      def perform(value) = Note.done << [value, executions, Thread.current]
    end

    class Retried < Note
      retry_on IOError, wait: 60, jitter: 0, attempts: 3

      def perform(value)
        super
        raise IOError, "again" if executions < 3
      end
    end

    class Failing < Note
      def perform(value)
        super
        raise ArgumentError, "never"
      end
    end

    class Again < Note
      def perform(value)
        super
        retry_job if executions < 2
      end
    end

    def penstock_application
      @application ||= application do
        delay_topics delays: [1_000, 10_000]
        active_job_topic :jobs
      end
    end

    def setup
      super
      ::ActiveJob::Base.logger = Logger.new(nil)
      application = penstock_application
      Note.queue_adapter = ::ActiveJob::QueueAdapters::PenstockAdapter.new(producer: -> { application.producer })
      ActiveJob::Later.scheduler = application.delays
      Note.done = []
    end

    def teardown
      ActiveJob::Later.scheduler = nil
      super
    end

    test "[jobs in a run] jobs are performed on the test's thread" do
      Note.set(queue: "jobs").perform_later("a")
      run = penstock.consume_all
      assert_equal [["a", 1, Thread.current]], Note.done
      assert_consumed run, :jobs, offset: 0, attempts: 1
    end

    test "[travel] after travel_to a past date, a job waits for its whole time" do
      Time.stub(:now, Time.at(1_700_000_000)) do
        Note.set(queue: "jobs", wait: 600).perform_later("a")
        penstock.consume_all(within: 60)
        assert_empty Note.done
        penstock.travel(600)
        assert_equal ["a"], Note.done.map(&:first)
      end
    end

    test "[consumer_for] the consumer of jobs performs what was enqueued, and its events are emitted" do
      consumed = []
      penstock_application.monitor.subscribe("active_job.consumed") { |event| consumed << event[:job_class] }
      consumer = penstock.consumer_for(:jobs)
      Note.set(queue: "jobs").perform_later("a")
      consumer.consume

      assert_equal [["a", 1, Thread.current]], Note.done
      assert_equal [Note.name], consumed
    end

    test "[jobs in a run] a job that always fails is dead-lettered" do
      Failing.set(queue: "jobs").perform_later("a")
      assert_dead_lettered penstock.consume_all, :jobs, offset: 0, to: "jobs.dead"
    end

    test "[jobs in a run] waits of jobs pass in virtual time" do
      Note.set(queue: "jobs", wait: 60).perform_later("later")
      penstock.consume_all(within: 1)
      assert_empty Note.done
      penstock.travel(60)
      assert_equal ["later"], Note.done.map(&:first)
    end

    test "[jobs in a run] each retry of a job waits in virtual time" do
      Retried.set(queue: "jobs").perform_later("a")
      after = [1, 60, 60].map do |seconds|
        penstock.travel(seconds)
        Note.done.map { |_value, executions, _thread| executions }
      end
      assert_equal [[1], [1, 2], [1, 2, 3]], after
    end

    test "[jobs in a run] a wait begins when the job is enqueued, also after virtual time has passed" do
      penstock.travel(600)
      Note.set(queue: "jobs", wait: 300).perform_later("one")
      ::ActiveJob.perform_all_later(Note.new("many").set(queue: "jobs", wait: 300))
      penstock.travel(290)
      assert_empty Note.done
      penstock.travel(11)
      assert_equal %w[many one], Note.done.map(&:first).sort
    end

    test "[jobs in a run] a wait begins at the time to which the test has moved Ruby's, before the next run" do
      penstock.travel(600)
      later = Time.now + 86_400
      Time.stub(:now, later) do
        Note.set(queue: "jobs", wait: 300).perform_later("a")
        penstock.consume_all(within: 290)
        assert_empty Note.done
        penstock.travel(300)
        assert_equal ["a"], Note.done.map(&:first)
      end
    end

    test "[jobs in a run] the time of wait_until is compared with virtual time as it is" do
      penstock.travel(600)
      [500, 660].each { |seconds| Note.set(queue: "jobs", wait_until: Time.now + seconds).perform_later(seconds) }
      penstock.consume_all(within: 30)
      assert_equal [500], Note.done.map(&:first)
      penstock.travel(60)
      assert_equal [500, 660], Note.done.map(&:first)
    end

    test "[jobs in a run] a job that has waited and is enqueued again without a wait isn't delayed" do
      Again.set(queue: "jobs", wait: 60).perform_later("a")
      penstock.consume_all(within: 65)
      assert_equal [1, 2], Note.done.map { |_value, executions, _thread| executions }
    end

    test "[jobs in a run] jobs of another adapter wait by Ruby's time" do
      penstock.travel(600)
      other = Class.new(Note) { def self.name = "Other" }
      other.queue_adapter = :test
      assert_in_delta Time.now.to_f + 60, other.new("a").set(wait: 60).scheduled_at.to_f, 30
    end

    test "[jobs in a run] a job that Active Job retries later is performed in the same run" do
      Retried.set(queue: "jobs").perform_later("a")
      penstock.consume_all
      assert_equal [1, 2, 3], Note.done.map { |_value, executions, _thread| executions }
    end
  end
end
