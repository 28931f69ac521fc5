# frozen_string_literal: true

require "test_helper"
require "support/routes"

module Penstock
  class RunOnFeatureTest < TestCase
    include RoutesSupport

    class Hooked < RoutesSupport::Consumer
      def revoked = nil
      def shutdown = nil
      def tick = nil
    end

    def drawn(consumer_class = RoutesSupport::Consumer, with = settings, &block)
      routes(with) do
        topic(:orders) do
          consumer consumer_class
          instance_exec(&block)
        end
      end
    end

    def value(&block) = drawn(&block).find("orders").features[:run_on]
    def wrong(*given, &block) = drawn(*given, &block).problems.map { |problem| plain(problem.to_s) }

    test "a topic runs on threads by default" do
      assert_predicate value {}, :threads?
    end

    test "fibers and processes have their own maximum" do
      assert_equal [:fibers, 1_000, nil], value { run_on :fibers }.then { |on| [on.kind, on.most, on.threads] }
      assert_equal [:fibers, 50, 2], value { run_on :fibers, max: 50, threads: 2 }.then { |on| [on.kind, on.most, on.threads] }
      assert_equal [:processes, 3], value { run_on :processes, max: 3 }.then { |on| [on.kind, on.most] }
      assert_operator value { run_on :processes }.most, :>=, 1
    end

    test "an unknown place, and options of another one, are refused with a hint" do
      assert_includes wrong { run_on :ractors }.first, "threads"
      assert_includes wrong { run_on :threads, max: 3 }.first, "workers max: n"
      assert_includes wrong { run_on :processes, threads: 3 }.first, "max:"
    end

    test "processes don't support hooks, ticks, statistics or keys bound to instances: all are reported at once" do
      found = wrong(Hooked) do
        run_on :processes
        periodic true
        inline_insights true
        parallel by: :key, distribution: :consistent
      end

      %w[periodic inline_insights consistent #revoked #shutdown #tick].each do |name|
        assert(found.any? { |text| text.include?(name) }, "#{name} in #{found}")
      end
      assert_equal 6, found.size
    end

    test "processes and a transactional producer are refused" do
      transactional = settings(kafka: RoutesSupport::KAFKA.merge("transactional.id": "shop"))

      found = wrong(RoutesSupport::Consumer, transactional) { run_on :processes }

      assert(found.any? { |text| text.include?("transactional.id") })
    end

    test "the framework's own hooks don't count as the user's" do
      require "penstock/consumer/base_consumer"

      assert_empty wrong(Class.new(BaseConsumer) { def consume = nil }) { run_on :processes }
    end
  end
end
