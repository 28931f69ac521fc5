# frozen_string_literal: true

require_relative "../wait"

module Penstock
  module TestSupport
    # A process by number *and* start time, so that a number which another process has by now is never signalled.
    class KnownProcess
      # @return [Integer]
      attr_reader :pid
      # @return [String, nil] when it was started, in the kernel's ticks
      attr_reader :started

      # @param pid [Integer]
      # @return [String, nil] nil for a process that has ended or is a zombie
      def self.started_at(pid)
        fields = File.read("/proc/#{pid}/stat").rpartition(") ").last.split
        fields[19] unless fields[0] == "Z"
      rescue Errno::ENOENT, Errno::ESRCH
        nil
      end

      # @param variable [String] NAME=value of its environment
      # @return [Array<KnownProcess>] the processes that have it, except this one
      def self.marked(variable)
        Dir.children("/proc").filter_map do |name|
          pid = Integer(name, exception: false)
          next unless pid && pid != ::Process.pid && File.binread("/proc/#{name}/environ").split("\0").include?(variable)
          new(pid).then { |process| process if process.alive? }
        rescue SystemCallError
          nil
        end
      end

      # @param pid [Integer]
      # @param started [String, nil] nil: as it is now
      def initialize(pid, started = self.class.started_at(pid))
        @pid = pid
        @started = started
      end

      # Reaps a child that has ended.
      def alive?
        # Read once: a process that ends between two reads would be considered ended without being reaped.
        started = self.class.started_at(@pid)
        ::Process.wait(@pid, ::Process::WNOHANG) if started.nil?
        !@started.nil? && started == @started
      rescue Errno::ECHILD
        false
      end

      # @return [Boolean] whether the signal was sent
      def signal(name)
        alive? && ::Process.kill(name, @pid) && true
      rescue Errno::ESRCH
        false
      end

      # @return [Boolean]
      def gone_within?(seconds)
        Wait.wait_until(seconds, every: 0.02) { !alive? }
      rescue Wait::TimeoutError
        false
      end

      # Ends it, after a while with SIGKILL.
      def end_within(seconds)
        signal(:CONT)
        signal(:TERM)
        gone_within?(seconds) || kill
      end

      def kill
        signal(:KILL)
        gone_within?(20)
      end

      # @return [Integer] resident memory, bytes
      def rss = File.read("/proc/#{@pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i * 1024

      # @return [Boolean] whether it is stopped by a signal
      def stopped? = File.read("/proc/#{@pid}/stat").rpartition(") ").last.start_with?("T")
    end
  end
end
