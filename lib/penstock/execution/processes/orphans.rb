# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Ends a child at once when its mold is gone, even while it computes in C and its reading thread gets no turn. Linux only;
      # on other systems the end of the socket's stream ends the child.
      module Orphans
        # The number of the system call prctl, by machine, and PR_SET_PDEATHSIG.
        PRCTL = {"x86_64" => 157, "aarch64" => 167}.freeze
        SET_DEATH_SIGNAL = 1
        private_constant :PRCTL, :SET_DEATH_SIGNAL

        # Called in the child's main thread. The kernel sends the signal when the *thread* that forked ends: it has to be the
        # mold's main thread.
        # @param parent [Integer] the mold's process id
        # @param signal [String] sent by the kernel
        def self.die_with_parent(parent, signal = "KILL")
          number = PRCTL[RbConfig::CONFIG["host_cpu"]] if RUBY_PLATFORM.include?("linux")
          quietly { syscall(number, SET_DEATH_SIGNAL, Signal.list.fetch(signal)) } if number
          exit!(3) unless ::Process.ppid == parent
        rescue NotImplementedError, SystemCallError
          nil
        end

        # Ruby warns about this method, for programs that could use another one.
        def self.quietly
          verbose, $VERBOSE = $VERBOSE, nil
          yield
        ensure
          $VERBOSE = verbose
        end
        private_class_method :quietly
      end
    end
  end
end
