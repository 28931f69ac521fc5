# frozen_string_literal: true

require_relative "../segments/command"
require_relative "../table"

module Penstock
  module CLI
    module Commands
      # Where split groups and their segments stand, and what the other commands would object to. Changes nothing.
      class SegmentsPlan < Segments::Command
        command "parallel_segments plan", "Shows where groups with parallel_segments stand", usage: "[GROUP…] [options]",
          arguments: (0..)
        details <<~TEXT
          A group that gets parallel_segments is from then on several groups on the cluster, which have no offsets yet:
          `distribute` gives them those of the group. Before parallel_segments are taken away `collapse` gives the group those of
          its segments, and before their number or their partitioner changes `reset` puts all at one place. All processes of the
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
