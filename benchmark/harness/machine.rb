# frozen_string_literal: true

require "etc"

module Bench
  # The machine and all versions of a run, without which its figures mean nothing.
  module Machine
    module_function

    def facts(broker:, peers:, penstock:)
      {
        machine: {
          cpu: cpu, cpus: Etc.nprocessors, memory_mb: memory_mb, system: system_name, kernel: Etc.uname[:release]
        },
        ruby: RUBY_DESCRIPTION, java: java, broker: broker, penstock: penstock, peers: peers
      }
    end

    def cpu
      File.foreach("/proc/cpuinfo").find { |line| line.start_with?("model name") }.to_s.split(": ").last.to_s.strip
    rescue SystemCallError
      Etc.uname[:machine]
    end

    def memory_mb
      File.read("/proc/meminfo")[/MemTotal:\s+(\d+)/, 1].to_i / 1024
    rescue SystemCallError
      nil
    end

    def system_name
      File.read("/etc/os-release")[/^PRETTY_NAME="(.*)"/, 1]
    rescue SystemCallError
      Etc.uname[:sysname]
    end

    def java
      IO.popen(%w[java -version], err: [:child, :out], &:read).lines.first.to_s.strip
    rescue SystemCallError
      "none"
    end
  end
end
