# frozen_string_literal: true

require_relative "../control/command"

module Penstock
  module CLI
    module Commands
      # Closes open breakers in a running server or swarm, which ends their holds.
      class BreakerClose < Control::Command
        command "breaker close", "Ends the holds of open breakers in a running server or swarm", usage: "[--pid N]"
        details <<~TEXT
          While most records of a topic fail alike, its breaker holds the topic and dead-letters nothing; `penstock status`
          lists the open breakers. After this command the records are retried and dead-lettered as usual. The same errors don't
          open the breaker again before a record has succeeded.
        TEXT

        private

        def call(_words)
          require_relative "../control/session"
          session = Control::Session.new(context.env, dir: context.dir)
          pid = session.one(options[:pid])
          open = session.send_command(pid, self.class.command_name)
          return say "process #{pid} is asking its nodes to close their breakers" unless open
          return say "process #{pid} has no open breaker" if open.empty?
          open.each { |breaker| say "process #{pid} releases #{breaker[:topics].join(", ")}, held for #{breaker[:cause]}" }
        end
      end
    end
  end
end
