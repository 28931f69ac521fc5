# frozen_string_literal: true

require_relative "../configs/command"

module Penstock
  module CLI
    module Commands
      # Changes settings. Shows them before and after; changes them with a yes.
      class ConfigsSet < Configs::Command
        command "configs set", "Changes settings of a topic, a broker or a group",
          usage: "topic|broker|group NAME SETTING=VALUE… [options]", arguments: (3..)
        details <<~TEXT
          The brokers check all changes before anything is changed. Settings that aren't named stay as they are.

            penstock configs set topic orders retention.ms=86400000 cleanup.policy=compact,delete
        TEXT

        private

        def define(parser)
          super
          define_confirmation(parser)
        end

        def call(words)
          type, name, *pairs = words
          changed = resource(type, name)
          pairs.each do |pair|
            setting, equals, value = pair.partition("=")
            fail_usage "#{pair.inspect} is not a SETTING=VALUE" if equals.empty? || setting.empty?
            changed.set(setting, value)
          end
          change(changed)
        end
      end
    end
  end
end
