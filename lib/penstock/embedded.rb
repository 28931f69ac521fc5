# frozen_string_literal: true

require_relative "application"
require_relative "errors"
require_relative "runtime/threads"

module Penstock
  # Runs the application inside another server's process: Puma, Sidekiq, a Rake task. It handles no signals and ends no process;
  # the server decides when to start and to stop it.
  #
  #     Penstock::Embedded.start   # in a worker, after it was forked
  #     Penstock::Embedded.stop    # before it ends; waits
  #
  # The application's producer stays open for the server's own code until the process ends.
  #
  # One application, {Penstock.app}, once per process: it can be started again after a fork, but not after {stop}. Any thread;
  # {quiet} and {stop} from traps too.
  module Embedded
    # One start; published only when complete. `code` is its exit code.
    Run = Struct.new(:pid, :app, :thread, :code) do
      # A fork's child has no thread of its parent's.
      def here? = pid == ::Process.pid
    end
    private_constant :Run

    @starting = Mutex.new

    class << self
      # Begins to consume, on a thread of its own. Does nothing if it has begun already. Not in a trap.
      #
      # If a route uses `run_on :processes`, it waits until the boot file was loaded again, in the process from which the others
      # are forked, 60 s at most. In that process it does nothing: a boot file may call it.
      # @param app [Application]
      # @param boot_file [String, nil] the file that defines the application, by default the command line's; needed only with
      #   `run_on :processes`
      # @return [void]
      # @raise [ConfigurationError] lists the problems of settings, routes and the boot file, before anything starts
      def start(app = Penstock.app, boot_file: nil)
        return if Application::ProcessMold.inside?
        raise ConfigurationError, "no application is defined: load your boot file first" unless app
        @starting.synchronize { @run = begin_with(app, boot_file) unless run_here }
        nil
      end

      # Takes no new work; returns at once.
      # @return [void]
      def quiet = run_here&.app&.quiet!

      # Stops in order and waits until it has ended. Does nothing if nothing was started.
      # @return [Integer, nil] the exit code a server would have, nil where it failed or was never started
      def stop
        run = run_here or return
        run.app.stop!
        run.thread.join
        run.code
      end

      # @return [Boolean] whether it was started in this process and hasn't ended
      def running? = run_here&.thread&.alive? || false

      private

      # Read once and then kept: another thread may start it meanwhile.
      def run_here
        run = @run
        run if run&.here?
      end

      def begin_with(app, boot_file)
        app.validate!
        mold = app.spawned_mold(boot_file: boot_file)
        run = Run.new(::Process.pid, app)
        run.thread = threads(app).start("penstock embedded") do
          run.code = app.run!(traps: false, mold: mold, keep_producer: true)
        end
        run
      rescue ThreadError
        mold&.close
        raise
      end

      # Its death must be reported: the server continues without it.
      def threads(app)
        Runtime::Threads.new(lambda do |_name, error|
          app.monitor.instrument("error.occurred", {type: "runner.call.error", error: error})
        end)
      end
    end
  end
end
