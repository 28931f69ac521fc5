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

    test "[jobs in a run] a job that Active Job retries later is performed in the same run" do
      Retried.set(queue: "jobs").perform_later("a")
      penstock.consume_all
      assert_equal [1, 2, 3], Note.done.map { |_value, executions, _thread| executions }
    end
  end
end
