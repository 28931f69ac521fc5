# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Ends what open breakers hold in a running server or swarm.
      class BreakerClose < Control::Command
        command "breaker close", "Ends the holds of open breakers in a running server or swarm", usage: "[--pid N]"
        details <<~TEXT
          A topic whose records fail alike is held, and nothing of it is dead-lettered: `penstock status` says which are. After this
          command its records are retried and dead-lettered as usual, and the same errors don't hold it again before a record has
          succeeded.
        TEXT

        private

        def call(_words)
          require_relative "../control/session"
          session = Control::Session.new(context.env)
          pid = session.one(options[:pid])
          open = session.ask(pid, self.class.command_name)
          return say "process #{pid} tells its nodes to close their breakers" unless open
          return say "process #{pid} has no open breaker" if open.empty?
          open.each { |breaker| say "process #{pid} releases #{breaker[:topics].join(", ")}, held for #{breaker[:cause]}" }
        end
      end
    end
  end
end
