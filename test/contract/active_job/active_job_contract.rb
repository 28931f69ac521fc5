# frozen_string_literal: true

require "json"
require "penstock/admin"
require "support/active_jobs"
require "support/rules"
require_relative "../failing/failing_contract"

module Penstock
  # Jobs of Active Job, enqueued and performed with any broker. Helpers are those of {TestSupport::ActiveJobs}, and of
  # {FailingContract} for letters.
  module ActiveJobContract
    include FailingContract
    include TestSupport::ActiveJobs

    extend TestSupport::Rules

    Jobs = TestSupport::ActiveJobs
    # Failures aren't taken for an outage.
    UNTIL_THEY_SUCCEED = proc do
      breaker false
      pause timeout: 2_000, max_timeout: 2_000, exponential: false
    end

    rule "jobs are performed with their arguments, each acknowledged; a job knows the record it became" do
      performing
      arguments = [[1, nil, "ä", 1.5], [{"a" => [:b]}], [Date.new(2026, 1, 2), 3.minutes]]
      enqueued = arguments.map { |list| to(Jobs::Note).perform_later(*list) }
      to(Jobs::Note).perform_later("named", key: 1)

      assert_equal [*arguments, ["named", {key: 1}]].to_set, take(done, 4).to_set
      await_committed(@queue_name, 4)
      assert_equal (0..2).map { |offset| "#{@queue_name}/0/#{offset}" }, enqueued.map(&:provider_job_id)
      assert(enqueued.all?(&:successfully_enqueued?))
    end

    rule "perform_all_later sends the jobs of all classes in one call, and counts them" do
      sent, counts = queue, queue
      running = performing
      running.application.producer.monitor.subscribe("messages.produced_sync") { |event| sent << event[:messages].size }
      subscriber = ActiveSupport::Notifications.subscribe("enqueue_all.active_job") { |event| counts << event.payload[:enqueued_count] }
      jobs = Array.new(50) { |index| job(index.even? ? Jobs::Note : Jobs::Discarded, index) }
      ::ActiveJob.perform_all_later(jobs)

      assert_equal (0...50).to_a, take(done, 50).map(&:first).sort
      assert_equal [[50], [50]], [all(sent), all(counts)]
      assert(jobs.all?(&:successfully_enqueued?))
      assert_equal 50, jobs.map(&:provider_job_id).uniq.size
      await_committed(@queue_name, 50)
    ensure
      ActiveSupport::Notifications.unsubscribe(subscriber) if subscriber
    end

    rule "classes and records that are gone, wrong arguments and records that aren't jobs: each is retried, then " \
      "dead-lettered, and no other job" do
      performing(options: {max_retries: 1}, concurrency: 4)
      broken = [JSON.generate(data(Jobs::Note, 1, job_class: "NoSuchJob")),
        JSON.generate(data(Jobs::Discarded, 1, arguments: [1, 2])),
        JSON.generate(data(Jobs::Note, Jobs::Record.new("deleted"))), "no JSON", "[1]", "{}", "null"]
      broken.each do |payload|
        produce(@queue_name, [payload])
        to(Jobs::Note).perform_later("good")
      end

      assert_equal [["good"]] * broken.size, take(done, broken.size)
      found = letters("#{@queue_name}-dead", broken.size)
      assert_equal broken.sort, found.map(&:raw_payload).sort
      assert_equal ["2"], found.map { |one| one.raw_headers["source_attempts"] }.uniq
      errors = found.to_h { |one| [one.raw_payload, one.raw_headers.fetch("penstock_error_class")] }
      assert_equal %w[ArgumentError ActiveJob::DeserializationError Penstock::DeserializationError Penstock::ActiveJob::InvalidJobError
        Penstock::ActiveJob::InvalidJobError Penstock::ActiveJob::InvalidJobError], errors.values_at(*broken.drop(1))
      assert_match(/NameError|UnknownJobClassError/, errors.fetch(broken.first))
      await_committed(@queue_name, 2 * broken.size)
    end

    rule "a job that always fails is retried alone while the others run; its letter, sent again, is performed again" do
      performing(options: {max_retries: 2}, concurrency: 2)
      to(Jobs::Failing).perform_later("bad")
      20.times { |index| to(Jobs::Note).perform_later(index) }
      letter = letters("#{@queue_name}-dead", 1).first

      ran = take(done, 23)
      assert_equal [1, 1, 1], ran.filter_map { |value, executions| executions if value == "bad" }
      assert_equal (0...20).to_a, ran.map(&:first).grep(Integer).sort
      await_committed(@queue_name, 21)
      produce(@queue_name, [letter.raw_payload])
      assert_equal ["bad", 1], take(done, 1).first
    end

    rule "a job that doesn't end and one that always fails hold no other one, and their records aren't completed" do
      Jobs::Waiting.gate, Jobs::Gated.open, Jobs::Gated.runs = queue, false, queue
      performing(options: {max_retries: 100_000}, concurrency: 2, block: UNTIL_THEY_SUCCEED)
      to(Jobs::Note).perform_later(0)
      to(Jobs::Waiting).perform_later("long")
      to(Jobs::Gated).perform_later("failing")
      200.times { |index| to(Jobs::Note).perform_later(index) }

      assert_equal 201, take(done, 201).size
      await_committed(@queue_name, 1)
      take(Jobs::Gated.runs, 2)
      Jobs::Gated.open = true
      assert_equal ["failing"], take(done, 1).first
      assert_equal 1, committed(@queue_name)
      Jobs::Waiting.gate << :go
      assert_equal ["long"], take(done, 1).first
      await_committed(@queue_name, 203)
    end

    rule "1,000 jobs of a partition that always fail fill its window: others wait until some of them are complete, and all run" do
      Jobs::Gated.open, Jobs::Gated.runs = false, queue
      running = performing(options: {max_retries: 100_000}, concurrency: 4, block: UNTIL_THEY_SUCCEED)
      failed = Hash.new(0)
      attempts = -> { all(Jobs::Gated.runs).each { |number| failed[number] += 1 } }
      ::ActiveJob.perform_all_later(Array.new(900) { |index| job(Jobs::Gated, index) })
      wait_until(120, "two attempts of 900 jobs", state: -> { failed.size }) do
        attempts.call
        failed.size == 900 && failed.values.min >= 2
      end
      ::ActiveJob.perform_all_later([*Array.new(101) { |index| job(Jobs::Gated, 900 + index) },
        *Array.new(20) { |index| job(Jobs::Note, "other #{index}") }])
      wait_until(120, "two attempts of 1,000 jobs", state: -> { failed.size }) do
        attempts.call
        failed.size >= 1_000 && failed.values.min >= 2
      end

      assert_equal (0...1_000).to_a, failed.keys.sort
      assert_empty done
      assert_equal [1_000], running.application.snapshot.to_s.scan(/incomplete[^\d]+(\d+)/).flatten.map(&:to_i).uniq
      Jobs::Gated.open = true
      assert_equal [*0..1_000, *Array.new(20) { |index| "other #{index}" }].to_set, take(done, 1_021, 120).to_set(&:first)
      await_committed(@queue_name, 1_021)
    end

    rule "retry_on enqueues the job again, with its id, attributes and executions; discard_on ends it" do
      Penstock::ActiveJob.current_attributes = [Jobs::Current]
      performing
      Jobs::Current.tenant = "acme"
      enqueued = to(Jobs::Retried).perform_later("retried")
      to(Jobs::Discarded).perform_later("discarded")
      ran = take(done, 4)

      assert_equal [["discarded", 1]], ran.select { |value, *| value == "discarded" }
      tries = ran.select { |value, *| value == "retried" }
      assert_equal [1, 2, 3], tries.map { |try| try[1] }
      assert_equal ["acme"], tries.map { |try| try[3] }.uniq
      assert_equal [enqueued.job_id], tries.map { |try| try[4] }.uniq
      assert_equal 3, tries.map { |try| try[2] }.uniq.size, "each run has the id of its record"
      await_committed(@queue_name, 4)
    end

    rule "a job whose retry can't be enqueued isn't completed: it is performed again" do
      refused, calls = queue, 0
      running = performing(options: {max_retries: 20})
      own = running.application.producer
      ::ActiveJob::Base.queue_adapter = ::ActiveJob::QueueAdapters::PenstockAdapter.new(producer: lambda {
        next own unless Penstock::ActiveJob::Running.current && (calls += 1) <= 2
        refused << committed(@queue_name)
        raise ProduceError.new("not acknowledged", topic: @queue_name)
      })
      to(Jobs::Retried).perform_later("kept")
      ran = take(done, 5)

      assert(all(refused).none?(&:positive?))
      assert_equal [1, 1, 1, 2, 3], ran.map { |try| try[1] }
      await_committed(@queue_name, 3)
    end

    rule "order: :key runs jobs of a key one after another, and a retry in place doesn't change their order" do
      ordered = Class.new(Jobs::Base) do
        def self.name = "Penstock::ActiveJobContract::Ordered"
        penstock_options partition_by: ->(job) { job.arguments.first }
        define_method(:perform) do |key, number|
          done << [key, number]
          raise "again" if number == 3 && Ordered::FAILED.add?(key)
        end
      end
      ordered.const_set(:FAILED, Set.new)
      ActiveJobContract.const_set(:Ordered, ordered)
      performing(options: {order: :key}, concurrency: 4)
      ::ActiveJob.perform_all_later(Array.new(40) { |index| job(Ordered, %w[a b c d][index % 4], index / 4) })
      ran = take(done, 44)

      %w[a b c d].each { |key|
        assert_equal [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9], ran.filter_map { |own, number|
          number if own == key
        }
      }
    end

    rule "order: :queue runs all jobs of a partition one after another" do
      performing(options: {order: :queue}, concurrency: 4)
      ::ActiveJob.perform_all_later(Array.new(60) { |index| job(Jobs::Note, index) })

      assert_equal (0...60).to_a, take(done, 60).map(&:first)
    end

    rule "attributes come from where the job was enqueued, and no job sees those of another, also after a failure" do
      Penstock::ActiveJob.current_attributes = [Jobs::Current]
      performing(options: {max_retries: 1}, concurrency: 1)
      Jobs::Current.set(tenant: "acme", user: Jobs::Record.new("7")) { to(Jobs::Seeing).perform_later(1, fail: true) }
      to(Jobs::Seeing).perform_later(2)
      Jobs::Current.set(tenant: "umbrella") { to(Jobs::Seeing).perform_later(3) }
      produce(@queue_name, [JSON.generate(data(Jobs::Seeing, 4, cattr_0: {"tenant" => "karafka's"}))])

      assert_equal [[1, "acme", Jobs::Record.new("7")], [1, "acme", Jobs::Record.new("7")], [2, nil, nil], [3, "umbrella", nil],
        [4, "karafka's", nil]], take(done, 5).sort_by(&:first)
    end

    rule "a payload as Karafka's adapter writes it is performed here, and ours is Active Job's own format" do
      performing
      produce(@queue_name, [ActiveSupport::JSON.encode(data(Jobs::Note, "<b> & \u2028", at: nil))])
      to(Jobs::Note).perform_later("ours", on: Date.new(2026, 1, 2))

      assert_equal [["<b> & \u2028"], ["ours", {on: Date.new(2026, 1, 2)}]].to_set, take(done, 2).to_set
      stored = letters(@queue_name, 2).last.raw_payload
      ::ActiveJob::Base.execute(ActiveSupport::JSON.decode(stored))
      assert_equal ["ours", {on: Date.new(2026, 1, 2)}], take(done, 1).first
      assert_equal %w[arguments enqueued_at exception_executions executions job_class job_id locale priority provider_job_id
        queue_name scheduled_at timezone], JSON.parse(stored).keys.sort
    end

    rule "a job can ask whether it should stop; outside of a job it is the process that stops" do
      running = performing
      to(Jobs::Asking).perform_later
      assert_equal :begun, take(done, 1).first
      stopping = Thread.new { running.stop }

      assert_equal :stopping, take(done, 1).first
      stopping.join(30)
      assert_equal 1, committed(@queue_name)
    end

    rule "events name the job, its message and the time it took" do
      seen = queue
      performing do |application|
        application.monitor.subscribe("active_job.consume") { |event| seen << [event.id, event.payload] }
        application.monitor.subscribe("active_job.consumed") { |event| seen << [event.id, event.payload] }
      end
      enqueued = to(Jobs::Note).perform_later(5)
      (began, first), (ended, last) = take(seen, 2)

      assert_equal %w[active_job.consume active_job.consumed], [began, ended]
      assert_equal [enqueued.job_id, Jobs::Note.name, [5], @queue_name, 0, 0, 1], [first[:job_id], first[:job_class],
        first[:job]["arguments"], *first.values_at(:topic, :partition, :offset, :attempt)]
      assert_equal "#{@queue_name}/0/0", first[:message].uid
      assert_operator last[:time], :>=, 0
    end
  end
end
