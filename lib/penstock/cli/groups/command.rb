# frozen_string_literal: true

require_relative "../command"
require_relative "../confirmation"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Groups
      # Base class of the commands about consumer groups.
      class Command < CLI::Command
        include Confirmation

        private

        def define(parser) = Target.define_with_timeout(parser)

        def define_topics(parser, text)
          parser.list(:topics, "--topics NAMES", text)
        end

        def target = @target ||= Target.new(context, options)

        # @yieldparam admin [Admin]
        # @return [Object] what the block returns
        def connected(&block) = target.admin(&block)

        # @return [Hash] see {Admin#group_info}; a group that doesn't exist is "Dead"
        def info(admin, group)
          found = infos(admin, [group]).fetch(group)
          raise found if found.is_a?(KafkaError)

          found
        end

        # @return [Hash{String => Hash, KafkaError}] see {Admin#group_infos}; a group that doesn't exist is "Dead"
        def infos(admin, groups)
          admin.group_infos(groups).to_h do |group, found|
            absent = found.is_a?(KafkaError) && found.code == :group_id_not_found
            [group, absent ? {group: group, state: "Dead", members: []} : found]
          end
        end

        # @param rows [Array<Hash>, KafkaError] see {Admin#group_lag}
        # @return [Boolean]
        def missing?(info, rows)
          info[:state] == "Dead" && rows.is_a?(Array) && rows.none? { |row| row[:committed] }
        end

        # @param groups [Array<String>] that don't exist
        # @return [Integer] exit code
        def refuse_missing(*groups)
          groups.each { |group| warn_user "there is no group #{group}; `penstock groups list` shows those of the cluster" }
          ExitCodes::FAILED
        end

        # @return [String] "1 member", "6 members"
        def count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"

        # @return [Array<Hash>] rows of {Admin#group_lag} with a commit, sorted
        def commits(admin, group, topics = options[:topics])
          rows = admin.group_lag(group, topics, stable: true).select { |row| row[:committed] }
          missing = topics.to_a - rows.map { |row| row[:topic] }
          fail_usage "group #{group} has no commits of #{missing.join(", ")}" if missing.any?
          rows
        end

        def refuse_members(group, members)
          clients = members.map { |member| member[:client_id] }.uniq
          warn_user "group #{group} has #{count(members.size, "member")} (#{clients.first(5).join(", ")}): stop all its " \
            "processes first; nothing was changed"
          ExitCodes::FAILED
        end

        def done(text)
          say text
          ExitCodes::OK
        end
      end
    end
  end
end
