# frozen_string_literal: true

require_relative "../segments/command"
require_relative "../table"

module Penstock
  module CLI
    module Commands
      # Prints the offsets of split groups and their segments, and what would prevent the other commands. Changes
      # nothing.
      class SegmentsPlan < Segments::Command
        command "parallel_segments plan", "Shows the offsets of groups with parallel_segments", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          With parallel_segments, a group becomes several groups on the cluster, which have no offsets yet: `distribute` gives
          them the group's offsets. Before you remove parallel_segments, `collapse` gives the group the offsets of its segments.
          Before you change their number or the partitioner, `reset` puts all segments at the same offsets. All processes of the
          group must be stopped meanwhile.
        TEXT

        private

        def define(parser)
          super
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          plans = plans(words)
          return say_json(plans.map { |plan| facts(plan) }) if options[:json]

          plans.each { |plan| print_plan(plan) }
        end

        def facts(plan)
          {group: plan.origin, segments: plan.segments,
           partitions: plan.rows.map { |row| row.to_h.slice(:topic, :partition, :origin, :segments) },
           distribute: plan.against_distributing, collapse: plan.against_collapsing}
        end

        def print_plan(plan)
          say Table.new(["topic", "partition", plan.origin, *plan.segments],
            plan.rows.map { |row| [row.topic, row.partition, row.origin || "-", *row.segments.map { |offset| offset || "-" }] })
          say verdict("distribute", plan.against_distributing), verdict("collapse", plan.against_collapsing), ""
        end

        def verdict(verb, objections) = "#{verb}: #{objections.empty? ? "possible" : objections.join("; ")}"
      end
    end
  end
end
