# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/consumer/base_consumer"

# Options of Karafka's routes that don't exist here.
class CompatKarafkaRoutingTest < Penstock::TestCase
  include RoutesSupport

  C = RoutesSupport::Consumer
  Ticking = Class.new(Penstock::BaseConsumer) do
    def consume = nil
    def tick = nil
  end

  Penstock::Compat::Karafka::Routing::VERBS.each do |verb, way_out|
    next if verb == :parallel_segments # belongs where a group is drawn

    test "#{verb} in a topic is reported with what to do instead" do
      found = problems do
        topic(:a) do
          consumer C
          public_send(verb, 5)
        end
      end

      assert_equal ["routes: topic a: there is no option #{verb}. #{way_out}"], found
    end
  end

  test "an option at the wrong level is reported with its place, outside of topics too" do
    found = problems do
      multiplexing(max: 2)
      consumer_group(:x) do
        recurring_tasks(true)
        topic(:a) do
          consumer C
          parallel_segments(count: 2)
        end
      end
    end

    assert_equal ["routes: top level: there is no option multiplexing. multiplexing belongs inside of a subscription_group's " \
      "block",
      "routes: consumer_group x: there is no option recurring_tasks. This version has no recurring tasks: leave them where " \
      "they are",
      "routes: topic a, consumer_group x: there is no option parallel_segments. parallel_segments belongs inside of a " \
      "consumer_group's block"], found
  end

  test "delay_by takes one argument, and hints at filters for a second one" do
    found = problems do
      topic(:a) do
        consumer C
        delay_by 5_000, Object
      end
    end

    assert_equal ["routes: topic a: delay_by takes one argument, not 2. For a delay of each message's own write delay_by " \
      "header: \"delay_ms\", max: 600_000; for other rules write a filter that pauses: " \
      "filter ->(topic, partition) { YourFilter.new }"], found
  end

  test "periodic accepts materialized without effect" do
    drawn = routes do
      topic(:a) do
        consumer Ticking
        periodic(interval: 1_000, materialized: true)
      end
    end

    assert_empty drawn.problems
    assert_equal [1_000, true, false, false], drawn.find(:a).features[:periodic_job].to_a
  end
end
