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

        # @return [Hash] see {Admin#group_info}; a group that doesn't exist is reported as empty
        def info(admin, group)
          admin.group_info(group)
        rescue KafkaError => error
          raise unless error.code == :group_id_not_found

          {group: group, state: "Dead", members: []}
        end

        # @return [Array<Hash>] rows of {Admin#group_lag} with a commit, sorted
        def commits(admin, group, topics = options[:topics])
          rows = admin.group_lag(group, topics).select { |row| row[:committed] }
          missing = topics.to_a - rows.map { |row| row[:topic] }
          fail_usage "group #{group} has no commits of #{missing.join(", ")}" if missing.any?
          rows
        end

        def refuse_members(group, members)
          clients = members.map { |member| member[:client_id] }.uniq
          warn_user "group #{group} has #{members.size} members (#{clients.first(5).join(", ")}): stop all its processes " \
            "first; " \
                    "nothing was changed"
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
