# frozen_string_literal: true

require_relative "../groups/command"

module Penstock
  module CLI
    module Commands
      # Copies a group's offsets to another group. Shows them first; copies with a yes.
      class GroupsCopy < Groups::Command
        command "groups copy", "Copies the offsets of a group to another one", usage: "FROM TO [options]", arguments: 2..2
        details <<~TEXT
          Copies each commit with its metadata, so the copy doesn't repeat records that were completed beyond the offset. Offsets that
          the target has already are replaced. The target must have no members.
        TEXT

        private

        def define(parser)
          super
          define_topics(parser, "only these topics")
          define_confirmation(parser)
        end

        def call(words)
          from, to = words
          connected do |admin|
            refused = refusal(admin, from, to)
            next refused if refused

            rows = commits(admin, from)
            next nothing(from) if rows.empty?

            show(rows, admin.group_lag(to, rows.map { |row| row[:topic] }.uniq))
            next ExitCodes::FAILED unless agreed?(question(from, to))

            change(admin, from, to)
            done("#{verb} #{count(rows.size, "offset")} of group #{from} to #{to}")
          end
        end

        # @return [Integer, nil] an exit code
        def refusal(admin, from, to)
          fail_usage "both groups are #{from}" if from == to
          members = info(admin, to)[:members]
          refuse_members(to, members) if members.any?
        end

        def question(from, to) = "Copy these offsets of group #{from} to #{to}?"
        def change(admin, from, to) = admin.copy_consumer_group(from, to, options[:topics])
        def verb = "copied"

        def nothing(from)
          warn_user "group #{from} has no commits"
          ExitCodes::FAILED
        end

        def show(rows, present)
          present = present.to_h { |row| [row.values_at(:topic, :partition), row[:committed]] }
          table = rows.map { |row| [row[:topic], row[:partition], row[:committed], present[row.values_at(:topic, :partition)]] }
          say Table.new(["topic", "partition", "committed", "in the target now"], table), ""
        end
      end
    end
  end
end
