# frozen_string_literal: true

require_relative "../security/acl_command"

module Penstock
  module CLI
    module Commands
      # Creates rights. Shows them first; creates them with a yes.
      class AclsCreate < Security::AclCommand
        command "acls create", "Creates rights (ACLs)"
        details <<~TEXT
          One right for each resource and operation. A right that exists already is no error.

            penstock acls create --principal User:billing --operations read,describe --topics orders,payments
            penstock acls create --principal User:billing --operations read --groups billing- --pattern prefixed
        TEXT

        private

        def define(parser)
          super
          define_confirmation(parser)
        end

        def call(_words)
          acls = acls()
          show(acls)
          return ExitCodes::FAILED unless agreed?("Create #{(acls.size == 1) ? "this right" : "these rights"}?")

          connected { |admin| admin.create_acls(acls) }
          done("created #{acls.size}")
        end
      end
    end
  end
end
