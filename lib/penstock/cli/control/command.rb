# frozen_string_literal: true

require_relative "../command"

module Penstock
  module CLI
    module Control
      # The base of commands that give one running server or swarm an order.
      class Command < CLI::Command
        class << self
          # @return [String] what is said when it was given
          attr_accessor :said
        end

        private

        def define(parser)
          parser.value(:pid, "--pid N", Integer, "which server or swarm, where there are several")
        end

        def call(_words)
          require_relative "session"
          session = Session.new(context.env)
          pid = session.one(options[:pid])
          session.ask(pid, self.class.command_name)
          say format(self.class.said, pid)
        end
      end
    end
  end
end
