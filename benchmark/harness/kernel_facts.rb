# frozen_string_literal: true

module Bench
  # Reads the kernel's figures about a process and its descendants.
  module KernelFacts
    module_function

    # @return [Array<Integer>] children, and their children
    def below(pid)
      children = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| File.read(path).split.map(&:to_i) }
      children + children.flat_map { |child| below(child) }
    rescue SystemCallError
      []
    end

    # @return [Hash{Symbol => Float}] MB: :rss, :pss, :own
    def memory(pid)
      kb = File.read("/proc/#{pid}/smaps_rollup").scan(/^(\w+):\s+(\d+) kB/).to_h
      {rss: kb["Rss"].to_f / 1024, pss: kb["Pss"].to_f / 1024,
       own: (kb["Private_Clean"].to_f + kb["Private_Dirty"].to_f) / 1024}
    end

    # Nanoseconds on a CPU of every thread; /proc/PID/stat is only exact to hundredths of a second.
    def cpu_seconds(pid) = Dir["/proc/#{pid}/task/*/schedstat"].sum { |file| File.read(file).to_i } / 1e9

    # How often it went to sleep by itself.
    def switches(pid)
      Dir["/proc/#{pid}/task/*/status"].sum { |file| File.read(file)[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }
    end
  end
end
