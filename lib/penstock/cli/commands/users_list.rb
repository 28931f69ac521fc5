# frozen_string_literal: true

require_relative "../command"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Lists users that log in with SCRAM.
      class UsersList < Command
        command "users list", "Lists the users that log in with SCRAM", usage: "[NAME…] [options]", arguments: (0..)

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def call(words)
          users = Target.new(context, options).admin { |admin| admin.describe_users(*words) }
          rows = users.sort.flat_map { |user, mechanisms| mechanisms.map { |pair| [user, *pair] } }
          return say_json(rows.map { |row| %w[user mechanism iterations].zip(row).to_h }) if options[:json]
          return say("no users with a SCRAM password") if rows.empty?

          say Table.new(%w[user mechanism iterations], rows)
        end
      end
    end
  end
end
