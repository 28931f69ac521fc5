# frozen_string_literal: true

require "test_helper"
require "penstock/swarm/metrics_totals"

module Penstock
  module Swarm
    class MetricsTotalsTest < TestCase
      MESSAGES = "penstock_consumer_messages_total"
      DURATION = "penstock_consumer_consume_duration_seconds"
      FULL = "penstock_producer_queue_full_total"
      LAG = "penstock_consumer_lag_messages"
      UP = "penstock_swarm_node_up"
      SECOND = 1_000_000_000

      # The reports as they stand in the file, by index.
      class Reports < Hash
        def read(index) = self[index]
      end

      def setup
        super
        @reports = Reports.new
        @now = 100 * SECOND
        @totals = MetricsTotals.new(@reports, 2, interval_ms: 1_000, now: -> { @now })
      end

      # @param process [Array] process id and time it began
      def report(messages, process: [11, 1], index: 0, at: @now, topic: "orders", **more)
        snapshot = {MESSAGES => [[["shop", topic], [messages]]], **more}
        @reports[index] = MetricsFile::Report.new(process, at, snapshot)
      end

      def later(seconds) = @now += seconds * SECOND

      # @return [Hash] of a node: labels => numbers
      def rows(name, node = "0")
        @totals.snapshots.find { |labels, _rows| labels == {node: node} }.last.fetch(name, []).to_h
      end

      def messages(node = "0") = rows(MESSAGES, node).fetch(%w[shop orders], [0]).first
      def up = @totals.snapshots.first.last.fetch(UP).map { |(node), (value)| [node, value] }.to_h

      test "nodes that have not reported are not up; each report adds the difference to the one before" do
        assert_equal({"0" => 0, "1" => 0}, up)
        report(5)
        report(7, index: 1)
        assert_equal [5, 7, {"0" => 1, "1" => 1}], [messages, messages("1"), up]
        later(1)
        report(9)
        3.times { assert_equal [9, 7], [messages, messages("1")] }
      end

      test "a node that dies between two reports keeps what it had reported, and its successor adds to it" do
        report(5)
        messages
        later(1)
        report(8) # no scrape has seen it
        @totals.ended(0)
        assert_equal [8, 0], [messages, up["0"]]
        later(1)
        report(1, process: [12, 2])

        assert_equal [9, 1], [messages, up["0"]]
      end

      test "a successor with the same process id is another process" do
        report(5)
        @totals.ended(0)
        later(1)
        report(5, process: [11, 2])

        assert_equal 10, messages
        later(1)
        report(6, process: [11, 2])
        assert_equal 11, messages
      end

      test "a successor is recognized although nobody noticed the end" do
        report(5)
        messages
        later(1)
        report(2, process: [12, 2])

        assert_equal 7, messages
      end

      test "the last report of a dead node, read again and again, adds nothing and doesn't bring it back" do
        report(5)
        2.times { @totals.ended(0) }

        3.times { assert_equal [5, 0], [messages, up["0"]] }
      end

      test "an older half, read because the newer one is being written, takes nothing away" do
        report(5)
        later(1)
        newer = report(8)
        assert_equal 8, messages
        report(5, at: @now - SECOND)
        assert_equal 8, messages
        @reports[0] = nil
        assert_equal 8, messages
        @reports[0] = newer
        assert_equal 8, messages
      end

      test "a frozen node keeps its counters and loses its gauges after three intervals, until it continues" do
        lag = {LAG => [[%w[shop orders 0], [77]]]}
        report(5, **lag)
        later(3)
        assert_equal [5, [77], 1], [messages, rows(LAG)[%w[shop orders 0]], up["0"]]
        @now += 1
        assert_equal [5, {}, 0], [messages, rows(LAG), up["0"]]
        later(60)
        report(6, **lag)
        assert_equal [6, [77], 1], [messages, rows(LAG)[%w[shop orders 0]], up["0"]]
      end

      test "gauges of a node that ended disappear at once, counters stay while there is no successor" do
        report(5, LAG => [[%w[shop orders 0], [77]]])
        @totals.ended(0)

        assert_equal [{}, 5], [rows(LAG), messages]
      end

      test "histograms are added bucket by bucket, and series without labels as well" do
        histogram = ->(*numbers) { {DURATION => [[%w[shop orders], numbers.fill(0, numbers.size...17)]]} }
        report(1, **histogram.call(0.5, 1, 2), **{FULL => [[[], [3]]]})
        @totals.ended(0)
        later(1)
        report(1, process: [12, 2], **histogram.call(0.25, 0, 1), **{FULL => [[[], [1]]]})

        assert_equal [0.75, 1, 3, 0], rows(DURATION)[%w[shop orders]].first(4)
        assert_equal [4], rows(FULL)[[]]
      end

      test "one hundred processes with a hundred topics each are 101 series, and no series ever decreases" do
        before = {}
        100.times do |life|
          topics = Array.new(100) { |number| [["shop", "t#{life}.#{number}"], [1]] } << [%w[shop orders], [1]]
          @reports[0] = MetricsFile::Report.new([11, life], @now, {MESSAGES => topics})
          now = rows(MESSAGES)
          before.each { |labels, (value)| assert_operator now.fetch(labels).first, :>=, value }
          before = now
          @totals.ended(0)
          later(1)
        end

        assert_equal [101, 10_100], [before.size, before.values.sum(&:first)]
      end

      # Any order of reports, deaths, freezes, torn halves and scrapes.
      test "in ten thousand random steps no counter goes backwards, and nothing that was read at an end is lost" do
        random = Random.new(7)
        life, count, written, owed, seen = 0, 0, 0, 0, 0
        older = nil
        10_000.times do
          @now += random.rand(2 * SECOND)
          case random.rand(10)
          when 0..3 then count += random.rand(5)
          when 4..6
            report(written = count, process: [random.rand(3), life])
            @process = @reports[0].process if @process.nil?
            @reports[0].process = @process
          when 7
            @totals.ended(0)
            owed += written
            life += 1
            count = written = 0
            @process = nil
          when 8 then older = @reports[0]
          else
            newest = @reports[0]
            @reports[0] = older if random.rand(2).zero? # the half with the newest one is being written
            value = messages
            @reports[0] = newest
            assert_operator value, :>=, seen
            seen = value
          end
        end

        assert_operator seen, :<=, owed + written
        @totals.ended(0)
        assert_equal owed + written, messages
      end
    end
  end
end
