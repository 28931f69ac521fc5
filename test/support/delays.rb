# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require_relative "ruby_program"
require_relative "wait"

module Penstock
  module TestSupport
    # Processes that move delayed messages on, one after another or at the same time. Ends only processes that it started, by
    # pid.
    class Delays
      include Wait

      PROGRAM = File.join(__dir__, "delays", "worker.rb")

      # A message that has arrived; times in ms since 1970.
      Arrival = Struct.new(:payload, :id, :due, :at)

      # @param plan [Hash] see worker.rb
      def initialize(**plan)
        @dir = Dir.mktmpdir("penstock-delays")
        @plan = {**plan, journal: path("journal")}
        @pids = []
      end

      # Returns when it runs: before that, a signal ends it like any Ruby.
      # @return [Integer] pid
      def start
        pid = ::Process.spawn({"PENSTOCK_DELAYS" => JSON.generate(@plan)}, *RubyProgram.command(PROGRAM),
          %i[out err] => [path("log"), "a"])
        @pids << pid
        wait_until(60, "process #{pid} runs", state: -> { tail }) do
          File.exist?(path("log")) && File.read(path("log")).include?("running (pid #{pid})")
        end
        pid
      end

      # @param pid [Integer] of one of them
      # @return [::Process::Status]
      def stop(pid, signal = "TERM")
        ::Process.kill(signal, pid)
        @pids.delete(pid)
        wait_until(60, "end by #{signal}", state: -> { tail }) { ::Process.wait2(pid, ::Process::WNOHANG)&.last }
      end

      # @return [Array<Arrival>]
      def arrivals
        return [] unless File.exist?(path("journal"))
        File.readlines(path("journal")).grep(/\n\z/).map do |line|
          payload, id, due, at = line.split
          Arrival.new(payload, id, due.to_i, at.to_i)
        end
      end

      # @return [String] the end of the log
      def tail = File.exist?(path("log")) ? File.readlines(path("log")).last(15).join : ""

      def close
        @pids.dup.each { |pid| stop(pid, "KILL") }
        FileUtils.rm_rf(@dir)
      end

      private

      def path(name) = File.join(@dir, name)
    end
  end
end
