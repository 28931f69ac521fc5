# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Moves the committed offsets of a group without members. Shows them before and after; changes them with a yes.
      class GroupsReset < Groups::Command
        command "groups reset", "Moves the offsets of a group without members: to a time, an offset, or by a number of records",
          usage: "GROUP --to PLACE | --by N [options]", arguments: 1..1
        details <<~TEXT
          PLACE is earliest, latest, an offset, or a time: 15m, 2h, 7d ago, or 2026-01-31T12:00:00Z (the first record at or after it).
          --by moves by a number of records, back with a minus sign, within the log. All topics of which the group has commits are
          moved, or those of --topics, which need no commit with --to.

          Records that Penstock had completed beyond the old offset run again. The group must have no members.

            penstock groups reset billing --to 2h
            penstock groups reset billing --by=-1000 --topics orders --partitions 0,1 --yes
        TEXT

        private

        def define(parser)
          super
          parser.value(:to, "--to PLACE", "earliest, latest, an offset or a time")
          parser.value(:by, "--by N", "records to move forward, or back with a minus sign")
          define_topics(parser, "only these topics")
          parser.list(:partitions, "--partitions NUMBERS", "only these partitions of them")
          define_confirmation(parser)
        end

        def call(words)
          group = words.first
          move = move()
          connected do |admin|
            members = info(admin, group)[:members]
            next refuse_members(group, members) if members.any?

            rows = selected(admin, group, move)
            offsets = move.offsets(admin, rows)
            show(rows, offsets)
            next ExitCodes::FAILED unless agreed?("Move these offsets of group #{group}?")

            admin.seek_consumer_group(group, by_topic(offsets))
            done("moved #{count(offsets.size, "offset")} of group #{group}")
          end
        end

        def move
          require_relative "../groups/move"
          Groups::Move.new(options[:to], options[:by], (Time.now.to_r * 1_000).to_i)
        rescue ArgumentError => error
          fail_usage error.message
        end

        def selected(admin, group, move)
          rows = admin.group_lag(group, options[:topics], stable: true)
          rows = rows.select { |row| row[:committed] } if move.relative?
          fail_usage(without_commits(group)) if rows.empty?
          options[:partitions] ? of_partitions(rows) : rows
        end

        # A partition that isn't there is a mistake of the user, who would believe that it has been moved.
        def of_partitions(rows)
          unknown = partitions - rows.map { |row| row[:partition] }
          return rows.select { |row| partitions.include?(row[:partition]) } if unknown.empty?

          known = rows.group_by { |row| row[:topic] }.transform_values { |same| same.map { |row| row[:partition] }.join(",") }
          there = known.map { |topic, numbers| "#{topic} #{numbers}" }
          fail_usage "--partitions #{unknown.join(",")}: not among those that can be moved (#{there.join("; ")})"
        end

        def without_commits(group)
          "group #{group} has no commits#{" of these topics" if options[:topics]}: name topics with --topics, and a place " \
            "with --to"
        end

        def partitions
          @partitions ||= options[:partitions].map do |text|
            Integer(text, 10, exception: false) || fail_usage("--partitions #{text.inspect} is not a number")
          end
        end

        def show(rows, offsets)
          rows = rows.map do |row|
            now = offsets.fetch(row.values_at(:topic, :partition))
            [row[:topic], row[:partition], row[:committed], now, row[:committed] && (now - row[:committed])]
          end
          say Table.new(%w[topic partition committed new difference], rows), ""
        end

        def by_topic(offsets)
          offsets.group_by { |(topic, _partition), _offset| topic }
            .transform_values { |same| same.to_h { |(_topic, partition), offset| [partition, offset] } }
        end
      end
    end
  end
end
