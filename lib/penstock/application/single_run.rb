# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Application
    # Lets an application run once per process: a second `run!` or `swarm!` would replace the parts of the first, which could
    # then not be stopped any more. Prepended to {Application}; a process forked from one that runs may run it too.
    #
    # It also reports, when the process ends, an exit code that nobody used: without `exit`, a failed run looks like a success
    # to the program that started the process.
    module SingleRun
      # One run. `place` is where it was started.
      Run = Struct.new(:pid, :place, :ended)
      LOCK = Mutex.new
      private_constant :Run, :LOCK

      # @see Application#run!
      def run!(**options)
        run_once("run!") { super }.tap { |code| ExitNote.remember("run!", code) unless options[:traps] == false }
      end

      # @see Application#swarm!
      def swarm!(**options)
        run_once("swarm!") { super }.tap { |code| ExitNote.remember("swarm!", code) }
      end

      private

      def run_once(name)
        run = Run.new(::Process.pid, caller_locations(2).find { |place| !place.path.start_with?(LIBRARY) }.to_s)
        LOCK.synchronize do
          raise ConfigurationError, again(name) if @run_once&.pid == run.pid
          @run_once = run
        end
        yield
      rescue ConfigurationError
        LOCK.synchronize { @run_once = nil if run.equal?(@run_once) } # it hasn't begun: the next attempt may
        raise
      ensure
        run.ended = true if run
      end

      def again(name)
        if @run_once.ended
          "#{name}: this application has run in this process (#{@run_once.place}) and has ended: a process runs an application " \
            "once. Start another process"
        else
          "#{name}: this application runs already, since it was started at #{@run_once.place}. A process runs an application " \
            "once: stop that run with stop!, or start another process"
        end
      end

      LIBRARY = "#{File.expand_path("../..", __dir__)}/"
      private_constant :LIBRARY

      # Remembers the code of a failed run until the process ends.
      module ExitNote
        @lock = Mutex.new

        class << self
          # @param name [String] the method that returned it
          # @param code [Integer]
          def remember(name, code)
            return if code.is_a?(Integer) && code.zero?
            at_exit { report($!) } unless @lock.synchronize { @pid == ::Process.pid }
            @lock.synchronize { @pid, @name, @code = ::Process.pid, name, code }
          end

          private

          # @param error [Exception, nil] what ends the process
          def report(error)
            return if @pid != ::Process.pid || !success?(error)
            warn "penstock: #{@name} returned #{@code}, which means that the run failed, but the process ends with 0, which " \
              "means success. Write `exit PenstockApp.#{@name}`, so that its supervisor notices"
          end

          def success?(error) = error.nil? || (error.is_a?(SystemExit) && error.success?)
        end
      end
      private_constant :ExitNote
    end
  end
end
