# frozen_string_literal: true

require_relative "../errors"
require_relative "../runtime/threads"

module Penstock
  class Application
    # How a running application is asked and told from outside: the control socket of the command line, and the page that probes
    # look at. Both open when it runs and close with it; a node of a swarm has none, for its supervisor answers.
    module Doors
      # Lets the user's commands (`penstock status`, `stop`…) reach this application once it runs.
      # @return [self]
      def controllable!
        @controllable = true
        self
      end

      # How the process does, in one Hash with `:live` and `:ready`; in a supervisor how all its nodes do. Any thread.
      # @return [Hash]
      def vitals
        found = @supervisor ? @supervisor.vitals : health&.to_h
        {state: @lifecycle.state.to_s, live: true, ready: false, **found.to_h}
      end

      private

      def with_doors
        return yield if config.node
        @doors = []
        @doors << control << health_page
        yield
      ensure
        @doors&.each { |door| door&.close }
        @doors = nil
      end

      # In a child of a fork.
      def forget_doors
        @doors&.each { |door| door&.forget }
        @doors = nil
      end

      def control
        return unless @controllable
        require_relative "../process/control"
        ServerProcess::Control.new(commands).start(door_threads)
      rescue SystemCallError => error
        logger.warn("`penstock status` and its like can't reach this process: #{error.message}")
        nil
      end

      def commands
        common = {"status" => method(:status), "quiet" => -> { quiet! && nil }, "stop" => -> { told_to_stop && nil },
                  "dump" => -> { dump! && nil }}
        @supervisor ? {**common, "restart" => -> { restart! && nil }} : common
      end

      def status
        {pid: ::Process.pid, kind: @supervisor ? "swarm" : "server", client_id: config.client_id, **vitals}
      end

      def health_page
        port = config.health.port or return
        require_relative "../process/health_page"
        ServerProcess::HealthPage.new(config.health.host, port, method(:vitals)).start(door_threads)
      rescue SystemCallError => error
        raise ConfigurationError.new([Problem.new("config.health.port", "(#{port}) can't be listened on: #{error.message}",
          "Another process has it, or the host isn't this machine's")])
      end

      def door_threads
        Runtime::Threads.new(lambda do |name, error|
          monitor.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
        end)
      end
    end
  end
end
