# frozen_string_literal: true

require_relative "../command"
require_relative "../confirmation"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Removes the SCRAM password of a user, who then can't log in any more.
      class UsersDelete < Command
        include Confirmation

        command "users delete", "Deletes a user that logs in with SCRAM", usage: "NAME [options]", arguments: 1..1
        details "Connections that are logged in stay open. Rights of the user stay: penstock acls delete --principal User:NAME"

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.value(:mechanism, "--mechanism NAME", "only this password: SCRAM-SHA-512 or SCRAM-SHA-256")
          define_confirmation(parser)
        end

        def call(words)
          name = words.first
          Target.new(context, options).admin do |admin|
            say "#{name}: #{admin.describe_users(name).fetch(name).keys.join(", ")}"
            next ExitCodes::FAILED unless agreed?("Delete #{options[:mechanism] || "user #{name}"}?")

            admin.delete_user(name, mechanism: options[:mechanism])
            say "deleted #{[name, options[:mechanism]].compact.join(", ")}"
          end
        end
      end
    end
  end
end
