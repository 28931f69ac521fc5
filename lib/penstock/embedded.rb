# frozen_string_literal: true

require_relative "errors"
require_relative "on_demand"
require_relative "printable"
require_relative "runtime/threads"
Penstock.load_constant :Application

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
    Run = Struct.new(:pid, :app, :boot_file, :thread, :code) do
      # A fork's child has no thread of its parent's.
      def here? = pid == ::Process.pid
    end
    private_constant :Run

    @starting = Mutex.new

    class << self
      # Begins to consume, on a thread of its own. Does nothing if the same application has begun already. Not in a trap.
      #
      # If a route uses `run_on :processes`, it waits until the boot file was loaded again, in the process from which the others
      # are forked, 60 s at most. In that process it does nothing: a boot file may call it.
      # @param app [Application, Class<App>]
      # @param boot_file [String, nil] the file that defines the application, by default the command line's; needed only with
      #   `run_on :processes`
      # @return [void]
      # @raise [ConfigurationError] lists the problems of settings, routes and the boot file, before anything starts; or the
      #   application has ended, another one runs here, or the same one with another boot file
      def start(app = Penstock.app, boot_file: nil)
        return if Application::ProcessMold.inside?
        app = application_of(app)
        @starting.synchronize { @run = begin_with(app, boot_file) unless runs?(app, boot_file) }
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

      def application_of(given)
        refuse("no application is defined", "Load your boot file first") unless given
        app = given.respond_to?(:application) ? given.application : given
        return app if app.respond_to?(:spawned_mold)
        refuse("needs an application, got #{Printable.inspect(given, 80)}",
          "Pass the class of your boot file, such as PenstockApp")
      end

      def runs?(app, boot_file)
        run = run_here
        return refuse_ended(app) unless run&.thread&.alive?
        unless run.app.equal?(app)
          refuse("#{run.app.name} runs here already, and a process runs one application this way: #{app.name} isn't started",
            "Run it with `penstock server`, or draw its routes in #{run.app.name}")
        end
        return true if boot_file.nil? || boot_file.to_s == run.boot_file.to_s
        refuse("#{app.name} runs here already, with #{run.boot_file || "the default boot file"}: boot_file: #{boot_file} has " \
          "no effect", "Pass it to the first call of start")
      end

      def refuse_ended(app)
        return unless app.done?
        refuse("#{app.name} has run in this process, or in the one it was forked from, and is stopping or has ended: " \
          "a process runs an application once", "Start another process; to run it in forks, don't run it in their parent")
      end

      def refuse(message, hint) = raise(ConfigurationError.new([Problem.new("Penstock::Embedded.start", message, hint)]))

      def begin_with(app, boot_file)
        app.validate!
        mold = app.spawned_mold(boot_file: boot_file)
        run = Run.new(::Process.pid, app, boot_file)
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
