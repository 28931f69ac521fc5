# frozen_string_literal: true

module Penstock
  module TestSupport
    # A control group of the kernel (version 1) that limits the memory of a process and of everything it forks later,
    # also of processes that rename themselves.
    class Cgroup
      ROOT = "/sys/fs/cgroup/memory"

      # @return [String, nil] why no group can be made here
      def self.obstacle
        "needs root and control groups of version 1" unless ::Process.uid.zero? && File.writable?(File.join(ROOT, "cgroup.procs"))
      end

      # @param memory [Integer, nil] bytes that its processes may use together
      def initialize(memory: nil)
        @folder = File.join(ROOT, "penstock-#{::Process.pid}-#{rand(1 << 40)}")
        Dir.mkdir(@folder)
        write("memory.limit_in_bytes", memory) if memory
      end

      def add(pid) = write("cgroup.procs", pid)

      # @return [Array<Integer>] its processes that haven't ended
      def pids = File.readlines(File.join(@folder, "cgroup.procs"), chomp: true).map { |line| Integer(line) }

      # @return [Boolean] false while a process is in it
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
