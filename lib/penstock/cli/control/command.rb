# frozen_string_literal: true

require_relative "../command"

module Penstock
  module CLI
    module Control
      # Base class of commands that send an order to one running server or swarm.
      class Command < CLI::Command
        class << self
          # @return [String] message printed after the order was given
          attr_accessor :confirmation
        end

        private

        def define(parser)
          parser.value(:pid, "--pid N", Integer, "which server or swarm; without it, that of the application in this folder")
        end

        def call(_words)
          require_relative "session"
          session = Session.new(context.env, dir: context.dir)
          pid = session.one(options[:pid])
          session.send_command(pid, self.class.command_name)
          say format(self.class.confirmation, pid)
        end
      end
    end
  end
end
