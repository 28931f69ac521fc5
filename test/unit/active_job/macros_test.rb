# frozen_string_literal: true

require "test_helper"
require "penstock/active_job"
require "support/routes"

class ActiveJobMacrosTest < Penstock::TestCase
  include RoutesSupport

  JobsConsumer = Penstock::ActiveJob::Consumer

  def teardown
    ActiveJob::Base.queue_name_prefix = nil
    Penstock::ActiveJob::Later.scheduler = nil
    Penstock::ActiveJob::Later.enabled = true
    super
  end

  test "[active_job_topic] a queue runs each job alone, side by side, with three retries and dead letters" do
    topic = routes { active_job_topic :default }.find(:default)

    assert_equal [JobsConsumer, 1, :message], [topic.consumer, topic.max_messages, topic.features[:parallel].by]
    assert_equal ["default.dead", 3], topic.features[:dead_letter_queue].to_h.values_at(:topic, :max_retries)
    refute topic.manual_offset_management?
  end

  test "options of the queue, and its block" do
    drawn = routes do
      defaults { parallel by: :key }
      active_job_topic(:mailers) { workers max: 3, priority: 10 }
      active_job_topic :ledger, order: :key, max_retries: 0, dead: "jobs.dead"
      active_job_topic "whole_queue", order: "queue"
      active_job_topic(:own, dead: false) { |topic| topic.consumer Class.new(JobsConsumer) }
      active_job_topic(:karafkas) { dead_letter_queue topic: "d", max_retries: 2 }
      active_job_topic(:tiers) { retry_topics delays: [1_000], finally: "d" }
    end

    assert_equal [3, 10], drawn.find(:mailers).features[:workers].to_h.values_at(:max, :priority)
    assert_equal [:key, "jobs.dead", 0], [drawn.find(:ledger).features[:parallel].by,
      *drawn.find(:ledger).features[:dead_letter_queue].to_h.values_at(:topic, :max_retries)]
    assert_nil drawn.find("whole_queue").features[:parallel], "order: :queue overrides defaults"
    assert_equal "whole_queue_dead", drawn.find("whole_queue").features[:dead_letter_queue].topic
    assert_equal false, drawn.find(:own).features[:dead_letter_queue].topic
    assert_operator drawn.find(:own).consumer, :<, JobsConsumer
    assert_equal ["d", 2], drawn.find(:karafkas).features[:dead_letter_queue].to_h.values_at(:topic, :max_retries)
    assert_nil drawn.find(:tiers).features[:dead_letter_queue]
    assert_empty(drawn.problems)
  end

  test "defaults for other topics don't concern jobs: not their manual offsets, and not their deserializers" do
    drawn = routes do
      defaults do
        manual_offset_management true
        deserializers payload: ->(_message) { raise "not a job" }
      end
      active_job_topic :default
      active_job_topic(:own) { deserializers payload: ->(_message) { {} } }
    end

    refute drawn.find(:default).manual_offset_management?
    assert_same Penstock::Serialization::Deserializers::DEFAULT.payload, drawn.find(:default).deserializers.payload
    assert_equal({}, drawn.find(:own).deserializers.payload.call(nil))
    assert_empty drawn.problems
  end

  test "jobs run in Rails' executor, also where defaults switch it off for consumers; the queue's block overrides it" do
    drawn = routes do
      defaults { rails_executor false }
      active_job_topic :default
      active_job_topic(:own) { rails_executor false }
    end

    assert_equal [true, false], [drawn.find(:default).features[:rails_executor], drawn.find(:own).features[:rails_executor]]
  end

  test "the breaker of a queue knows the application's database as what all jobs need; defaults and the block override it" do
    drawn = routes { active_job_topic :default }
    breaker = drawn.find(:default).features[:breaker]
    assert_equal 0.8, breaker.share
    assert_includes breaker.outage_errors, "ActiveRecord::ConnectionNotEstablished"
    assert_empty %w[Timeout::Error SocketError Errno::ECONNREFUSED] & breaker.outage_errors

    overridden = routes do
      defaults { breaker share: 0.6 }
      active_job_topic :default
      active_job_topic(:own) { breaker false }
    end
    assert_equal [0.6, false], [overridden.find(:default).features[:breaker].share, overridden.find(:own).features[:breaker]]
  end

  test "the topic has Rails' prefix of queue names, as jobs have" do
    ActiveJob::Base.queue_name_prefix = "shop"
    job = Class.new(ActiveJob::Base) { queue_as :default }

    assert_equal [job.queue_name, "shop_default_dead"], routes { active_job_topic :default }.topics
      .map { |topic| [topic.name, topic.features[:dead_letter_queue].topic] }.first
  end

  test "inside of groups, and by pattern" do
    drawn = routes do
      consumer_group(:jobs) { subscription_group(:slow) { active_job_topic :exports } }
      active_job_pattern(/jobs\..*/, name: "all", dead: "dead.jobs", order: :key)
    end

    assert_equal %w[jobs slow], [drawn.find(:exports).consumer_group_id, drawn.find(:exports).subscription_group.name]
    assert_equal [JobsConsumer, :key, "dead.jobs"], drawn.find("jobs.a").then { |topic|
      [topic.consumer, topic.features[:parallel].by, topic.features[:dead_letter_queue].topic]
    }
  end

  test "mistakes are reported with the line, all at once" do
    found = problems do
      active_job_topic
      active_job_topic :a, ordr: :key
      active_job_topic :b, order: :random
      active_job_topic(:c) { consumer C }
      active_job_topic(:d, order: :queue) { [parallel, config(partitions: 3), max_messages(10), manual_offset_management] }
      active_job_topic(:e, max_retries: 1) { dead_letter_queue topic: "d" }
      active_job_pattern(/x/)
      active_job_delays false
    end

    ["active_job_topic is missing. It must be a name", "active_job_topic has no option ordr. Did you mean order?",
      'active_job_topic order: must be "key" or "queue" or "message", is :random',
      "queue c has a consumer that isn't one of jobs",
      "order: and parallel", "several partitions", "one job per call", "has manual offsets",
      "dead: or max_retries:, and dead_letter_queue", "active_job_pattern dead: is missing",
      "active_job_delays comes after an active_job_topic"].each { |part| assert_includes found.join("\n"), part }
  end

  test "active_job_topic inside of a topic's block is reported" do
    assert_equal ["routes: topic a: there is no option active_job_topic. active_job_topic belongs outside of a topic's block"],
      problems { topic(:a) { [consumer(C), active_job_topic(:b)] } }
  end

  C = RoutesSupport::Consumer

  test "[active_job_delays] the scheduler draws once for all queues, and not with active_job_delays false" do
    drawn = []
    scheduler = Class.new do
      def call(message, _due_ms) = message
      define_method(:draw) { |level| drawn << level.class }
    end.new
    Penstock::ActiveJob::Later.scheduler = scheduler
    builder = Penstock::Routing::Builder.new
    builder.draw { consumer_group(:g) { [active_job_topic(:a), active_job_topic(:b)] } }
    builder.draw { active_job_topic :c }

    assert_equal [Penstock::Routing::Dsl::Group], drawn
    builder.redraw do
      active_job_delays false
      active_job_topic :a
    end
    assert_equal 1, drawn.size
    error = assert_raises(NotImplementedError) { Penstock::ActiveJob::Later.scheduler.call({topic: "a"}, 1) }
    assert_match(/the job of topic a is due later, and this application has no delays .* `active_job_delays false`/,
      error.message)
  end
end
