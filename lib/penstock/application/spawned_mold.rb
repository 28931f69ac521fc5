# frozen_string_literal: true

require "socket"
require_relative "../framework"
require_relative "../config/boot_file"
require_relative "../errors"
require_relative "../execution/middleware_stack"
require_relative "../execution/processes/child_context"
require_relative "../execution/processes/mold"
require_relative "../native/death_pipe"
require_relative "../on_demand"
require_relative "../server/exit_codes"
require_relative "../runtime/threads"
require_relative "process_mold"
Penstock.load_constant :App

module Penstock
  class Application
    # Runs in a spawned mold, the process from which others are forked: a fresh Ruby that loads a boot file, compares what it
    # defines with the application that spawned it, and is a mold from then on. Runs on the main thread of its own process; ends
    # with the process that spawned it, also while it loads.
    class SpawnedMold
      # Time from the end of its parent to its own, while it loads.
      ORPHANED_MS = 500
      private_constant :ORPHANED_MS

      # Never returns.
      # @param words [Array<String>] numbers of the descriptors of its socket and of the pipe that ends with its parent;
      #   emptied, because the boot file may read them
      def self.begin(words)
        socket, death = words.shift(2).map { |word| Integer(word) }
        new(UNIXSocket.for_fd(socket), IO.for_fd(death, "rb")).run
      end

      # @param socket [UNIXSocket]
      # @param death [IO]
      def initialize(socket, death)
        @socket = socket
        @death = death
        @channel = Execution::Processes::Channel.new(socket)
      end

      # Never returns.
      def run
        settle_in
        child_context = child_context(order)
        Native::DeathPipe.disarm # from here on no user code keeps it from reading its socket
        @death.close
        @channel.send_value(:loaded, nil)
        Execution::Processes::Mold.new(child_context, @socket).run
      rescue ConfigurationError => error
        refuse(error.problems)
      rescue Exception => error # rubocop:disable Lint/RescueException -- root of the process, and a boot file may raise anything
        refuse([Problem.new("run_on :processes", words_of(error), "Run `penstock info` to see why")])
      ensure
        exit!(1)
      end

      private

      # Signals sent to a whole process group are for the parent, from the first moment on.
      def settle_in
        Execution::Processes::Mold.ignore_signals
        [@socket, @death].each { |io| io.close_on_exec = true }
        Native::DeathPipe.watch(@death, grace_ms: ORPHANED_MS)
        ::Process.setproctitle("penstock mold of #{::Process.ppid}, loading")
        ProcessMold.inside!
      end

      def order
        found = nil
        until found
          more = @channel.read { |_type, body| found = Execution::Processes::Frame.value(body) }
          exit!(Server::ExitCodes::ORPHANED) unless more
        end
        @file = found[:file]
        found
      end

      def child_context(order)
        Config::BootFile.load(@file)
        child_context = application(order[:name]).mold_context(order)
        problems = Execution::Processes::Mold.obstacles
        raise ConfigurationError.new(problems) if problems.any?
        child_context
      end

      # An application that isn't the process's own (`default false`) is found by the name of its class.
      def application(name)
        named = Object.const_get(name) if name.match?(/\A[A-Z]/) && Object.const_defined?(name)
        return named.application if named.is_a?(Class) && named < App
        Penstock.app || raise(ConfigurationError.new([Problem.new(@file, "defines no application",
          "Write `class PenstockApp < Penstock::App`, with `setup` and `routes.draw`")]))
      end

      def words_of(error)
        place = error.backtrace&.first
        return "#{@file} calls exit, at #{place}, when it is loaded again to fork processes from" if error.is_a?(SystemExit)
        "#{@file} can't be loaded again to fork processes from: #{error.class}: #{error.message}#{" (#{place})" if place}"
      end

      def refuse(problems)
        [$stdout, $stderr].each(&:flush)
        @channel.send_value(:refused, problems.map(&:to_a))
      rescue SystemCallError, IOError # the parent is gone
        nil
      end
    end
  end
end
