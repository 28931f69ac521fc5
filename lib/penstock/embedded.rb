# frozen_string_literal: true

require_relative "errors"
require_relative "runtime/threads"

module Penstock
  # The application inside another server's process: Puma, Sidekiq, a Rake task. It handles no signals and ends no process; the
  # host says when to start and to stop.
  #
  #     Penstock::Embedded.start   # in a worker, after it was forked
  #     Penstock::Embedded.stop    # before it ends; waits
  #
  # One application, {Penstock.app}, once a process: started anew after a fork, not after {stop}. Any thread; {quiet} and {stop}
  # from traps too.
  module Embedded
    class << self
      # Begins to consume, on a thread of its own. Does nothing when it has begun already.
      # @param app [Application]
      # @return [void]
      # @raise [ConfigurationError] what is wrong with settings and routes, before anything starts
      def start(app = Penstock.app)
        raise ConfigurationError, "no application is defined: load your boot file first" unless app
        return if running_here?
        app.validate!
        @process = ::Process.pid
        @app = app
        @thread = threads(app).start("penstock embedded") { @code = app.run!(traps: false) }
      end

      # Takes no new work; returns at once.
      # @return [void]
      def quiet = running_here? && @app.quiet!

      # Stops in order and waits until it has ended. Does nothing where nothing was started.
      # @return [Integer, nil] what the exit code would be, nil where it failed or was never started
      def stop
        return unless running_here?
        @app.stop!
        @thread.join
        @code
      end

      # @return [Boolean] whether it was started in this process and hasn't ended
      def running? = running_here? && @thread.alive?

      private

      # A fork's child has no thread of its parent's.
      def running_here? = @process == ::Process.pid

      # That it died must not go unnoticed: the host goes on.
      def threads(app)
        Runtime::Threads.new(lambda do |_name, error|
          app.monitor.instrument("error.occurred", {type: "runner.call.error", error: error})
        end)
      end
    end
  end
end
