# frozen_string_literal: true

require_relative "groups_copy"

module Penstock
  module CLI
    module Commands
      # Copies a group's offsets to another name and deletes the group. Shows them first; acts with a yes.
      class GroupsRename < GroupsCopy
        command "groups rename", "Gives a group without members another name", usage: "FROM TO [options]", arguments: 2..2
        details <<~TEXT
          Copies all commits with their metadata, then deletes the group. Neither group may have members; start the processes with the new
          group_id afterwards.
        TEXT

        private

        def define(parser)
          Groups::Command.instance_method(:define).bind_call(self, parser)
          define_confirmation(parser)
        end

        def refusal(admin, from, to)
          super || begin
            members = info(admin, from)[:members]
            refuse_members(from, members) if members.any?
          end
        end

        def question(from, to) = "Copy these offsets to group #{to} and delete group #{from}?"
        def change(admin, from, to) = admin.rename_consumer_group(from, to)
        def verb = "moved"
      end
    end
  end
end
