# frozen_string_literal: true

require_relative "ruby_side"

module Bench
  # Measures a process from outside while it is idle, for the workloads about its cost: CPU time, voluntary switches, threads
  # and memory.
  module Watching
    SETTLE_S = 8
    WATCH_S = 20

    private

    def watched_s = options.quick ? 5 : WATCH_S

    # @param program [String] file below benchmark/sides
    # @param parameters [Hash] of the program
    # @return [Hash{String => Numeric}]
    def watch(program, parameters)
      child = RubySide.spawn(program, {bootstrap: broker.bootstrap, group: group, body: "idle", **parameters})
      sleep SETTLE_S
      before = observe(child.pid)
      sleep watched_s
      after = observe(child.pid)
      raise child.failure("ended instead of being idle") if child.ended?

      {"cpu_s" => (after[:cpu_s] - before[:cpu_s]).round(3), "threads" => after[:threads], "rss_mb" => after[:rss_mb],
       "switches_per_s" => ((after[:switches] - before[:switches]) / watched_s.to_f).round(1)}
    ensure
      child&.stop
    end

    def observe(pid)
      {cpu_s: schedule(pid), switches: switches(pid), threads: Dir["/proc/#{pid}/task/*"].size,
       rss_mb: (File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024.0).round(1)}
    end

    # Nanoseconds on a CPU of every thread; /proc/PID/stat is only exact to hundredths of a second.
    def schedule(pid)
      Dir["/proc/#{pid}/task/*/schedstat"].sum { |file| File.read(file).to_i } / 1e9
    end

    def switches(pid)
      Dir["/proc/#{pid}/task/*/status"].sum { |file| File.read(file)[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }
    end
  end
end
