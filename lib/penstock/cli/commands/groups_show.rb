# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Shows one consumer group: its state, its members with their partitions, and its offsets.
      class GroupsShow < Groups::Command
        command "groups show", "Shows a consumer group: members, partitions, offsets, lag",
          usage: "GROUP [options]", arguments: 1..1

        private

        def define(parser)
          super
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          info, lag = connected { |admin| [info(admin, words.first), admin.group_lag(words.first)] }
          return refuse_missing(words.first) if missing?(info, lag)
          return say_json({**info, offsets: lag}) if options[:json]

          say heading(info), ""
          say_members(info[:members])
          say_offsets(lag)
        end

        def heading(info)
          more = {type: info[:type], assignor: info[:assignor], coordinator: info[:coordinator]&.to_s}
            .reject { |_name, value| value.to_s.empty? }
          ["group #{info[:group]}: #{info[:state]}", *more.map { |name, value| "#{name} #{value}" }].join(", ")
        end

        def say_members(members)
          return say("no members", "") if members.empty?

          say Table.new(%w[client host instance partitions], members.map { |member|
            [member[:client_id], member[:host], member[:instance_id], partitions(member[:partitions])]
          }), ""
        end

        def partitions(pairs)
          pairs.group_by(&:first).map { |topic, same| "#{topic} #{same.map(&:last).sort.join(",")}" }.join("; ")
        end

        def say_offsets(rows)
          return say("no commits") if rows.empty?

          columns = %i[topic partition committed end lag incomplete]
          say Table.new(columns.map(&:to_s), rows.map { |row| row.values_at(*columns) })
        end
      end
    end
  end
end
