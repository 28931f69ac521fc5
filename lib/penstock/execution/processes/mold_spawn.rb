# frozen_string_literal: true

require "rbconfig"
require "socket"
require_relative "../../errors"
require_relative "channel"
require_relative "mold_handle"

module Penstock
  module Execution
    module Processes
      # Makes a mold that isn't forked: a fresh Ruby, with this one's environment and load path, that loads the boot file. For
      # processes that can't be forked from. Waits until it has loaded, or says why it can't; what is left then is ended.
      #
      # Used once, by the thread that boots.
      class MoldSpawn
        LOADING_S = 60.0
        # Between the end of its socket and its own.
        ENDING_S = 1.0
        # Runs there; what it does is the application's, which stands above.
        ENTRY = 'require "penstock/application/spawned_mold"; Penstock::Application::SpawnedMold.begin(ARGV)'
        # What every Ruby has.
        OWN_FOLDERS = RbConfig::CONFIG.values_at("rubylibdir", "rubyarchdir", "sitedir", "sitelibdir", "sitearchdir", "vendordir",
          "vendorlibdir", "vendorarchdir").compact.freeze
        private_constant :ENTRY, :ENDING_S, :OWN_FOLDERS

        # @param file [String] absolute path of the boot file
        # @param timeout_s [Float] for loading it
        # @param order [Hash{Symbol => Object}] what the application there is to fit to, values only
        def initialize(file:, timeout_s: LOADING_S, **order)
          @file = file
          @timeout_s = timeout_s
          @order = {file: file, **order}
        end

        # @return [MoldHandle]
        # @raise [ConfigurationError]
        def call
          socket, theirs = UNIXSocket.pair
          reader, death = IO.pipe # a boot file may compute for ever: what it ends with is read in C
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

        # It reads nothing of what is typed to its parent.
        def spawn(socket, death)
          ::Process.spawn(RbConfig.ruby, *folders, "-e", ENTRY, socket.fileno.to_s, death.fileno.to_s,
            :in => File::NULL, :close_others => true, socket => socket, death => death)
        end

        def folders = ($LOAD_PATH.map(&:to_s) - OWN_FOLDERS).map { |folder| "-I#{File.expand_path(folder)}" }

        # @return [Array<Problem>] none when it is ready
        def problems(pid, channel)
          type, value = answer(channel)
          return [] if type == :loaded
          status = ended(pid)
          case type
          when :refused then value.map { |row| Problem.new(*row) }
          when :late then [problem("isn't loaded after #{@timeout_s.round} s", "It has to define the application and to return")]
          else [problem("ended #{words(status)} while it was loaded", "Load it by `penstock info` to see why")]
          end
        end

        def answer(channel)
          said = nil
          ends = now + @timeout_s
          channel.send_value(:load, @order)
          until said
            more = channel.read([ends - now, 0].max) { |type, body| said = [type, Frame.value(body)] }
            return [more.nil? ? :late : :gone] unless more || said
          end
          said
        rescue SystemCallError # it was gone before it was told what to do
          [:gone]
        end

        # Whatever it does, it isn't left behind.
        # @return [::Process::Status, nil] nil where somebody else has waited for it
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

        def words(status)
          return "in an unknown way" unless status
          status.signaled? ? "by SIG#{Signal.signame(status.termsig)}" : "with exit code #{status.exitstatus}"
        end

        def problem(text, hint)
          Problem.new("run_on :processes", "the process that loads #{@file} once more, to fork others from it, #{text}", hint)
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
