# frozen_string_literal: true

require_relative "../command"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Prints the lag of consumer groups: for each partition the committed offset, the end, and the difference.
      class GroupsLag < Command
        command "groups lag", "Prints the lag of consumer groups", usage: "[GROUP…] [options]", arguments: (0..)
        details <<~TEXT
          Without a name: the groups of the application. A partition without a commit has no lag yet; consumption begins at
          initial_offset.
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          target = Target.new(context, options)
          groups = words.empty? ? routed(target) : words.to_h { |group| [group, nil] }
          rows = target.admin { |admin| groups.flat_map { |group, topics| admin.group_lag(group, topics) } }
          return say_json(rows) if options[:json]

          print_rows(rows)
        end

        # Group => its topics, those that the application consumes.
        def routed(target)
          target.groups.tap { |groups| fail_usage "name a group, as there is no application here" if groups.empty? }
        end

        def print_rows(rows)
          return say("no commits") if rows.empty?

          say Table.new(%w[group topic partition committed end lag],
            rows.map { |row| row.values_at(:group, :topic, :partition, :committed, :end, :lag) })
          say "", "total lag: #{rows.sum { |row| row[:lag].to_i }}"
        end
      end
    end
  end
end
