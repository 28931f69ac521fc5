# frozen_string_literal: true

module Penstock
  module TestSupport
    # A control group of the kernel's (version 1): a process that is put in, and all that it forks from then on, whatever they
    # call themselves.
    class Cgroup
      ROOT = "/sys/fs/cgroup/memory"

      # @return [String, nil] why there can be none here
      def self.obstacle
        "needs root and control groups of version 1" unless ::Process.uid.zero? && File.writable?(File.join(ROOT, "cgroup.procs"))
      end

      # @param memory [Integer, nil] bytes that they may have together
      def initialize(memory: nil)
        @folder = File.join(ROOT, "penstock-#{::Process.pid}-#{rand(1 << 40)}")
        Dir.mkdir(@folder)
        write("memory.limit_in_bytes", memory) if memory
      end

      def add(pid) = write("cgroup.procs", pid)

      # @return [Array<Integer>] processes in it that haven't ended
      def pids = File.readlines(File.join(@folder, "cgroup.procs"), chomp: true).map { |line| Integer(line) }

      # @return [Boolean] false while somebody is in it
      def remove
        Dir.rmdir(@folder)
        true
      rescue Errno::EBUSY
        false
      end

      private

      def write(name, value) = File.write(File.join(@folder, name), value)
    end
  end
end
