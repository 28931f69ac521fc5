# frozen_string_literal: true

require "rbconfig"
require "socket"
require_relative "../../clock"
require_relative "../../errors"
require_relative "channel"
require_relative "mold_handle"

module Penstock
  module Execution
    module Processes
      # Creates a mold without forking: a fresh Ruby, with this one's environment and load path, that loads the boot file. For
      # processes that can't be forked from. Waits until it has loaded, or raises why it can't; a process that failed is ended.
      #
      # Used once, by the thread that boots the application.
      class MoldSpawn
        LOADING_S = 60.0
        # Time between the end of its socket and its own end.
        ENDING_S = 1.0
        # Runs there; the class belongs to the application layer, above this one.
        ENTRY = 'require "penstock/application/spawned_mold"; Penstock::Application::SpawnedMold.begin(ARGV)'
        # Folders on the load path of every Ruby.
        OWN_FOLDERS = RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitedir", "sitelibdir", "sitearchdir", "vendordir",
          "vendorlibdir", "vendorarchdir").compact.freeze
        private_constant :ENTRY, :ENDING_S, :OWN_FOLDERS

        # @param file [String] absolute path of the boot file
        # @param timeout_s [Float] for loading it
        # @param order [Hash{Symbol => Object}] what the spawned application has to match, values only
        def initialize(file:, timeout_s: LOADING_S, **order)
          @file = file
          @timeout_s = timeout_s
          @order = {file: file, **order}
        end

        # @return [MoldHandle]
        # @raise [ConfigurationError]
        def call
          socket, theirs = UNIXSocket.pair
          reader, death = IO.pipe # a boot file may compute for ever: the pipe that ends it is read in C
          pid = spawn(theirs, reader)
          [theirs, reader].each(&:close)
          problems = problems(pid, Channel.new(socket))
          return MoldHandle.new(pid, socket) if problems.empty?
          socket.close
          raise ConfigurationError.new(problems)
        ensure
          [theirs, reader, death].each { |io| io&.close }
        end

        private

        # Its standard input is empty: it must not read what is typed for its parent.
        def spawn(socket, death)
          ::Process.spawn(RbConfig.ruby, *folders, "-e", ENTRY, socket.fileno.to_s, death.fileno.to_s,
            :in => File::NULL, :close_others => true, socket => socket, death => death)
        end

        def folders = ($LOAD_PATH.map(&:to_s) - OWN_FOLDERS).map { |folder| "-I#{File.expand_path(folder)}" }

        # @return [Array<Problem>] empty when it is ready
        def problems(pid, channel)
          type, value = answer(channel)
          return [] if type == :loaded
          status = ended(pid)
          case type
          when :refused then value.map { |row| Problem.new(*row) }
          when :late then [problem("isn't loaded after #{@timeout_s.round} s", "It has to define the application and to return")]
          else [problem("ended #{reason(status)} while it was loaded", "Run `penstock info` to see why")]
          end
        end

        def answer(channel)
          reply = nil
          ends = now + @timeout_s
          channel.send_value(:load, @order)
          until reply
            more = channel.read([ends - now, 0].max) { |type, body| reply = [type, Frame.value(body)] }
            return [more.nil? ? :late : :gone] unless more || reply
          end
          reply
        rescue SystemCallError # it was gone before it got its order
          [:gone]
        end

        # The process is ended in any case, and never left running.
        # @return [::Process::Status, nil] nil where another caller has waited for it
        def ended(pid)
          ends = now + ENDING_S
          until (found = ::Process.wait2(pid, ::Process::WNOHANG))
            ::Process.kill(:KILL, pid) if now > ends
            IO.select(nil, nil, nil, 0.01)
          end
          found.last
        rescue Errno::ECHILD
          nil
        end

        def reason(status)
          return "in an unknown way" unless status
          status.signaled? ? "by SIG#{Signal.signame(status.termsig)}" : "with exit code #{status.exitstatus}"
        end

        def problem(text, hint)
          Problem.new("run_on :processes", "the process that loads #{@file} again, to fork others from it, #{text}", hint)
        end

        def now = Clock.seconds
      end
    end
  end
end
