# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/lanes"
require "penstock/routing/features/inline_insights"
require "penstock/runtime/loop/monitoring/insights"

module Penstock
  class InsightsTest < TestCase
    include TestSupport::Lanes

    Group = Struct.new(:topics)
    Session = Struct.new(:group, :lanes, :reporter, :mailbox) do
      include TestSupport::AllActive
    end

    # Runs deferred work at once.
    class Reporter
      def later = yield
    end

    # Counts how often the loop is woken.
    class Mailbox
      attr_reader :woken

      def wake_up = @woken = @woken.to_i + 1
    end

    def insights(required: false, **features)
      @topic = route(features: {inline_insights: Routing::InlineInsights.new(required), **features}.compact)
      @lane = lane(@topic, committed: 3)
      @session = Session.new(Group.new([@topic]), {@lane.key => @lane}, Reporter.new, @mailbox = Mailbox.new)
      @insights = Runtime::Insights.new(@session).tap { |insights| insights.assigned(@lane) }
    end

    def come(**row)
      partitions = {"-1" => {"hi_offset" => 9}, "0" => {"fetch_state" => "active", **row.transform_keys(&:to_s)}}
      @insights.receive(-> { {"topics" => {"orders" => {"partitions" => partitions}}} })
    end

    test "known statistics are kept, also when the partition isn't fetched any more" do
      insights
      assert_empty @insights.of(@lane)
      come(hi_offset: 10)
      come(hi_offset: -1001, fetch_state: "stopped")
      assert_equal 10, @insights.of(@lane)["hi_offset"]
      @insights.receive(-> { {"topics" => {}} })
      assert_equal 10, @insights.of(@lane)["hi_offset"]
    end

    test "the lag is counted from the application's position; unknown ends stay as the client reports them" do
      insights
      come(hi_offset: 10, ls_offset: 8, consumer_lag_stored: -1)
      assert_equal [3, 5], @insights.of(@lane).values_at("stored_offset", "consumer_lag_stored")
      come(hi_offset: -1001, consumer_lag_stored: -1)
      assert_equal(-1, @insights.of(@lane)["consumer_lag_stored"])
    end

    test "a partition that requires statistics is held until there are some, and the loop is woken for it" do
      insights(required: true)
      @insights.run
      assert_equal [:insights], @lane.holds.reasons
      come(hi_offset: 10)
      @insights.run
      assert_equal [[], 1], [@lane.holds.reasons, @mailbox.woken]
      @insights.assigned(@lane)
      assert_empty @lane.holds.reasons
    end

    test "statistics aren't parsed where no route uses them" do
      insights(inline_insights: nil)

      assert_nil @insights.receive(-> { raise "asked" })
    end
  end
end
