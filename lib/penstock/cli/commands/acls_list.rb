# frozen_string_literal: true

require_relative "../security/acl_command"

module Penstock
  module CLI
    module Commands
      # Lists rights.
      class AclsList < Security::AclCommand
        command "acls list", "Lists the rights (ACLs) of the cluster"
        details <<~TEXT
          Without options all of them. Each option selects those with this part; --topics orders --pattern match selects all that apply to
          the topic, also prefixes and *.
        TEXT

        private

        def call(_words)
          found = connected { |admin| admin.describe_acls(filter) }
          show(found)
        end
      end
    end
  end
end
