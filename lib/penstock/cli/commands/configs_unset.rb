# frozen_string_literal: true

require_relative "../configs/command"

module Penstock
  module CLI
    module Commands
      # Removes settings, so that they have their default. Shows them first; changes them with a yes.
      class ConfigsUnset < Configs::Command
        command "configs unset", "Gives settings of a topic, a broker or a group their default",
          usage: "topic|broker|group NAME SETTING… [options]", arguments: (3..)

        private

        def define(parser)
          super
          define_confirmation(parser)
        end

        def call(words)
          type, name, *settings = words
          changed = resource(type, name)
          settings.each { |setting| changed.delete(setting) }
          change(changed)
        end
      end
    end
  end
end
