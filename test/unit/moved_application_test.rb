# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/moved_application"

# An application written for Karafka, with everything it used.
class MovedApplicationTest < Penstock::TestCase
  def setup
    @app = Class.new(Penstock::App)
    @app.setup(&MovedApplication::SETUP)
    @app.routes.draw(&MovedApplication::ROUTES)
  end

  def teardown = Penstock.forget_app(@app)

  test "settings, routes and the producer's settings work as they are, renamed" do
    assert_equal [], @app.application.tap(&:validate!).config.problems
    assert_equal %w[shop reports events segmented-parallel-0 segmented-parallel-1], @app.consumer_groups.map(&:id)
    assert_equal %w[orders dead reports delayed events audits clicks clicks],
      @app.consumer_groups.flat_map(&:topics).map(&:name)
  end

  test "a topic's settings take precedence over `defaults`, each where it was written" do
    orders, reports, dead = %w[orders reports dead].map { |name| @app.application.routes.find(name) }

    assert_equal [3, 2, 2], [orders, reports, dead].map { |topic| topic.features[:dead_letter_queue].max_retries }
    assert_equal [50, 500], [orders.max_messages, reports.max_messages]
    assert_equal [100, 500], [orders.pause.timeout, reports.pause.timeout]
    assert_equal [1, 3, 2, 30_000], reports.subscription_group.multiplexing.to_a
  end

  test "its listeners get events, and its producer is its own" do
    monitor = @app.monitor
    metrics = monitor.subscribe(MovedApplication::Metrics.new)
    monitor.subscribe(Penstock::Instrumentation::LoggerListener.new)
    @app.producer.monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(@app.logger, log_messages: false))
    monitor.notifications_bus.register_event("shop.custom")

    assert_kind_of MovedApplication::Metrics, metrics
    assert_equal ["gzip", 500_000, true], [@app.producer.config.kafka[:"compression.type"], @app.producer.config.max_payload_size,
      @app.producer.idempotent?]
  end

  test "before the migration every unsupported setting is reported at once, with what to do instead" do
    @app.setup do |config|
      config.internal.tick_interval = 2_000
      config.internal.swarm.node_report_timeout = 90_000
      config.internal.processing.critical_errors = [NoMemoryError]
      config.recurring_tasks.interval = 15_000
    end
    @app.routes.draw { recurring_tasks true }
    told = assert_raises(Penstock::ConfigurationError) { @app.application.validate! }.problems

    assert_equal %w[config.internal.tick_interval config.internal.swarm.node_report_timeout
      config.internal.processing.critical_errors config.recurring_tasks] + ["routes: top level"],
      told.map { |problem| problem.path[/\A[^(]+[^( ]/] }
    assert(told.all?(&:hint))
  end
end
