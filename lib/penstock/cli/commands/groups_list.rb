# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Lists the consumer groups of the cluster, with their members and their lag.
      class GroupsList < Groups::Command
        command "groups list", "Lists the consumer groups of the cluster, with members and lag"
        details "The lag is that of all partitions with a commit. A group whose lag can't be read has a dash."

        private

        def define(parser)
          super
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          rows = connected { |admin| rows(admin) }
          return say_json(rows) if options[:json]
          return say("no groups") if rows.empty?

          say Table.new(%w[group state type members lag], rows.map(&:values))
        end

        def rows(admin)
          groups = admin.groups.sort_by { |row| row[:group] }
          names = groups.map { |row| row[:group] }
          infos, lags = admin.group_infos(names), admin.group_lags(names)
          groups.map do |row|
            {group: row[:group], state: row[:state], type: row[:type], members: members(infos[row[:group]]),
             lag: lag(lags[row[:group]])}
          end
        end

        def members(info) = info.is_a?(Hash) ? info[:members].size : nil
        def lag(rows) = rows.is_a?(Array) ? rows.sum { |row| row[:lag].to_i } : nil
      end
    end
  end
end
