# frozen_string_literal: true

require_relative "../../instrumentation/connection_diagnosis"
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
          Without a name: the groups of the application; with --bootstrap, which loads none: all groups of that cluster.
          A partition without a commit has no lag yet; consumption begins at initial_offset. The column `incomplete` leaves out
          records that are complete beyond the committed offset, which is where keys run in parallel.
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          target = Target.new(context, options)
          rows = target.admin do |admin|
            groups = words.empty? ? unnamed(target, admin) : words.to_h { |group| [group, nil] }
            groups.flat_map { |group, topics| admin.group_lag(group, topics) }
          end
          return say_json(rows) if options[:json]

          print_rows(rows, words)
        end

        # @return [Hash{String => Array<String>, nil}] groups, and their topics that the application consumes; nil: all of them
        def unnamed(target, admin)
          return target.groups if target.application

          admin.groups.map { |row| row[:group] }.sort.to_h { |group| [group, nil] }
        rescue KafkaError => error
          raise if Instrumentation::ConnectionDiagnosis::CODES.include?(error.code) # nothing could be asked

          fail_usage "name a group: #{target.without_application_because}, and the cluster's groups can't be listed " \
            "(#{Printable.error(error, 200)})"
        end

        def print_rows(rows, words)
          return say(["no commits", nothing(words)].compact.join(" ")) if rows.empty?

          columns = %i[group topic partition committed end lag incomplete]
          say Table.new(columns.map(&:to_s), rows.map { |row| row.values_at(*columns) })
          lag, incomplete = %i[lag incomplete].map { |column| rows.sum { |row| row[column].to_i } }
          beyond = ", of which #{lag - incomplete} are complete beyond the committed offsets" if incomplete < lag
          say "", "total lag: #{lag}#{beyond}"
        end

        # A group that doesn't exist has none either.
        def nothing(words)
          "of #{words.join(", ")}; `penstock groups list` shows the groups of the cluster" if words.any?
        end
      end
    end
  end
end
