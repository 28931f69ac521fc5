# frozen_string_literal: true

require "test_helper"
require "penstock/server/health"
require "penstock/swarm/reports"
require "penstock/swarm/watchman"

module Penstock
  module Swarm
    class WatchmanTest < TestCase
      Loop = Server::Health::Loop

      def setup
        super
        @reader, @pipe = IO.pipe
        @death, @life = IO.pipe
        @orphaned = Thread::Queue.new
        @parser = Frame::Parser.new
        @messages = []
        @health = nil
      end

      def teardown
        @watchman&.close
        @thread&.join
        [@reader, @pipe, @death, @life].each(&:close)
        super
      end

      def watch(interval_ms = 3_600_000)
        @watchman = Watchman.new(reports: Reports.new(@pipe), death: @death, interval_ms: interval_ms, health: -> { @health },
          jobs: -> { 7 }, orphaned: -> { @orphaned << true })
        @thread = Thread.new { @watchman.run }
      end

      def health(state, member, idle_ms: 5) = Server::Health.new(state, [Loop.new("app_0", member, 2, idle_ms)], 1, 1_000)

      # @return [Array<Symbol>]
      def heard
        bytes = @reader.read_nonblock(65_536, exception: false)
        @parser.feed(bytes) { |message| @messages << message } if bytes.is_a?(String)
        @messages.map { |message| message.class.name.split("::").last.downcase.to_sym }
      end

      test "a node reports nothing before its loops run; then Ready, and Healthy at once and when it becomes a member" do
        watch
        @health = health(:initialized, false)
        assert_empty heard
        @health = health(:running, false)
        wait_until(20) { heard.first(2) == %i[ready healthy] }
        refute @messages.last.facts[:member]
        @health = health(:running, true)
        wait_until(20) { heard == %i[ready healthy healthy] }
        assert_equal [true, 7, 1_000, 2], @messages.last.facts.values_at(:member, :jobs, :rss_bytes, :partitions)
      end

      test "a node that is quieted while it boots reports all the same" do
        watch
        @health = health(:quieting, false)
        wait_until(20) { heard.first(2) == %i[ready healthy] }
        @health = health(:stopping, true)
        wait_until(20) { heard == %i[ready healthy healthy] }
        assert_equal "stopping", @messages.last.facts[:state]
      end

      test "a node reports each interval, and a stall with its reason" do
        @health = health(:running, true)
        watch(20)
        wait_until(20) { heard.count(:healthy) > 3 }
        @health = health(:running, true, idle_ms: 60_001)
        wait_until(20) { heard.include?(:unhealthy) }
        assert_match(/poll loop of app_0 has been blocked for 60001 ms/, @messages.last.reason)
      end

      test "the end of the supervisor is reported once; a stray byte isn't taken for it" do
        watch(20)
        @life.write("x")
        @life.close
        wait_until(20) { !@orphaned.empty? }
        @watchman.close
        @thread.join
        assert_equal 1, @orphaned.size
      end

      test "a full pipe blocks no report, and a report that would be cut isn't sent" do
        reports = Reports.new(@pipe)
        200.times { |index| reports.stopping(index) while reports.stopping(index) }
        heard

        assert_equal 0, @parser.skipped_bytes
        assert_operator @messages.size, :>, 100
      end

      test "a report that is too long is sent without its rows" do
        rows = Array.new(100) { |index| Loop.new("a_subscription_group_#{index}", true, 1, 1) }
        Reports.new(@pipe).healthy(Server::Health.new(:running, rows, 0, 1).to_h)
        heard

        assert_equal [100, nil], @messages.last.facts.values_at(:partitions, :loops)
      end
    end
  end
end
