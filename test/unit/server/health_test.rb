# frozen_string_literal: true

require "test_helper"
require "penstock/server/health"

module Penstock
  module Server
    class HealthTest < TestCase
      Group = Struct.new(:id)
      # The methods of a poll loop that are used.
      Loop = Struct.new(:turned_at, :assignment_state, :connected, keyword_init: true) do
        def group = Group.new("app_0")
        def connected? = connected
      end

      def health(state = :running, turned_at: 99_000, assignment_state: [3, true], connected: true, now: 100_000)
        Health.of(state, [Loop.new(turned_at: turned_at, assignment_state: assignment_state, connected: connected)], 2, now)
      end

      test "[k8s liveness] a loop blocked for a minute isn't live, one that turns is, with any lag" do
        assert_predicate health, :live?
        assert_predicate health(turned_at: 40_000), :live?
        stuck = health(turned_at: 39_999)

        refute_predicate stuck, :live?
        assert_match(/app_0 has been blocked for 60001 ms/, stuck.complaint)
      end

      test "a loop that waits for its next connection, or hasn't turned yet, isn't blocked" do
        assert_predicate health(turned_at: 1, connected: false), :live?
        assert_predicate health(turned_at: nil), :live?
      end

      test "ready means running and in all groups" do
        assert_predicate health, :ready?
        refute_predicate health(assignment_state: [0, false]), :ready?
        refute_predicate health(:quieting), :ready?
        refute_predicate Health.new(:running, [], 0, 0), :ready?
      end

      test "it contains only plain data" do
        data = health.to_h

        assert_equal ["running", true, true, true, 2, 3], data.values_at(:state, :live, :ready, :member, :running, :partitions)
        assert_equal [{group: "app_0", member: true, partitions: 3, idle_ms: 1_000}], data[:loops]
        refute_includes data, :reason
        assert_operator data[:rss_bytes], :>, 1 << 20
      end

      test "resident memory is read at most once a second, and again in a child of a fork" do
        GC.start
        GC.disable # or memory of other tests may be returned meanwhile
        readings = [Health::Rss.bytes(10_000), Health::Rss.bytes(11_000)]
        held = "x" * (64 << 20)

        assert_equal readings.first, readings.last
        assert_equal readings.first, Health::Rss.bytes(11_000)
        assert_operator Health::Rss.bytes(11_001), :>, readings.first + (32 << 20), held.bytesize
        assert_operator Health::Rss.bytes(5_000), :>, readings.first + (32 << 20), "another clock's time"
        child = fork do
          Health::Rss.bytes(5_000)
          exit!((Health::Rss.instance_variable_get(:@last).pid == ::Process.pid) ? 0 : 1)
        end
        assert_predicate ::Process.wait2(child).last, :success?
      ensure
        GC.enable
      end
    end
  end
end
