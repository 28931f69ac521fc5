# frozen_string_literal: true

require_relative "../security/acl_command"

module Penstock
  module CLI
    module Commands
      # Deletes rights. Shows those that match first; deletes them with a yes.
      class AclsDelete < Security::AclCommand
        command "acls delete", "Deletes rights (ACLs)"
        details <<~TEXT
          Deletes what `penstock acls list` shows with the same options; at least one is needed.

            penstock acls delete --principal User:billing
        TEXT

        private

        def define(parser)
          super
          define_confirmation(parser)
        end

        def call(_words)
          fail_usage "without an option all rights would be deleted: name a principal, a resource or an operation" unless chosen?

          connected do |admin|
            found = admin.describe_acls(filter)
            show(found)
            next if found.empty?
            next ExitCodes::FAILED unless agreed?("Delete #{(found.size == 1) ? "this right" : "these #{found.size} rights"}?")

            done("deleted #{admin.delete_acls(filter).size}")
          end
        end
      end
    end
  end
end
