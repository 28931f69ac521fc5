# frozen_string_literal: true

require_relative "../instrumentation/metrics/registry"
require_relative "metrics_file"

module Penstock
  module Swarm
    # Adds up what the processes of each node have reported, in the supervisor. Totals only grow: they get the difference between
    # two reports of one process, or the whole first report of another. docs/internals/swarm.md has the states of a node's
    # metrics, and possible interruptions.
    #
    # Any thread: the health page reads, and the main thread when a node has ended.
    class MetricsTotals
      # Intervals after which a node's gauges are too old to be shown.
      SILENT_INTERVALS = 3
      UP = "penstock_swarm_node_up"
      NONE = {}.freeze
      Node = Struct.new(:label, :totals, :last, :ended)
      private_constant :SILENT_INTERVALS, :UP, :NONE, :Node

      # @param file [MetricsFile, #read]
      # @param count [Integer] number of nodes
      # @param interval_ms [Integer] at which nodes report
      # @param now [#call] monotonic ns
      def initialize(file, count, interval_ms:, now: MetricsFile.method(:now))
        @file = file
        @silent_ns = SILENT_INTERVALS * interval_ms * 1_000_000
        @now = now
        @lock = Mutex.new
        @counted, @gauges = Instrumentation::Metrics::Catalogue::ALL.partition { |metric| !metric.gauge? }
        @nodes = Array.new(count) do |index|
          Node.new(index.to_s.freeze, Instrumentation::Metrics::Registry.new(@counted))
        end
      end

      # Reads the last report of a node that has ended, before its successor writes.
      # @param index [Integer]
      # @return [void]
      def ended(index)
        @lock.synchronize do
          read(index)
          @nodes[index].ended = true
        end
      end

      # @return [Array<Array(Hash{Symbol => String}, Hash{String => Array})>] for {Instrumentation::Metrics::PrometheusText}
      def snapshots
        @lock.synchronize do
          @nodes.each_index { |index| read(index) }
          now = @now.call
          up = @nodes.select { |node| up?(node, now) }
          [[NONE, {UP => @nodes.map { |node| [[node.label], [up.include?(node) ? 1 : 0]] }}],
            *@nodes.map { |node| [{node: node.label}, {**node.totals.snapshot, **(up.include?(node) ? gauges(node) : NONE)}] }]
        end
      end

      private

      def up?(node, now) = !node.last.nil? && !node.ended && now - node.last.at <= @silent_ns

      def gauges(node) = node.last.snapshot.slice(*@gauges.map(&:name))

      def read(index)
        node = @nodes[index]
        report = @file.read(index)
        return if report.nil? || (node.last && report.at <= node.last.at)
        same = node.last && node.last.process == report.process
        add(node.totals, report.snapshot, same ? node.last.snapshot : NONE)
        node.last = report
        node.ended = false
      end

      def add(totals, snapshot, before)
        @counted.each do |metric|
          rows = snapshot[metric.name] or next
          known = before[metric.name].to_h
          rows.each do |labels, numbers|
            old = known[labels]
            totals[metric.name].add(labels, old ? numbers.zip(old).map { |number, former| number - former } : numbers)
          end
        end
      end
    end
  end
end
