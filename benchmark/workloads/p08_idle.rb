# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P8: the cost of an idle consumer, measured from outside.
  class Idle < Workload
    NAME = "P8"
    TITLE = "idle, 50 partitions: CPU, voluntary switches and threads over 20 s"
    SETTLE_S = 8
    WATCH_S = 20

    def columns = %w[cpu_s switches_per_s threads rss_mb]

    def prepare
      topics.create("bench-idle", partitions: 50)
    end

    def sides
      [side("Penstock", :ours, "penstock/server.rb"), side("Karafka", :peer, "karafka/server.rb")]
    end

    def figures(results)
      [
        at_most("CPU against Karafka's", ratio(results, "Penstock", "Karafka", "cpu_s"), 1, "×"),
        at_most("switches a second above Karafka's", above(results), 2),
        at_most("threads when no job has run", values(results, "Penstock", "threads"), 10),
        seen("CPU in #{seconds} s", values(results, "Penstock", "cpu_s"), "s")
      ]
    end

    private

    def seconds = options.quick ? 5 : WATCH_S

    def side(name, kind, program)
      Side.new(name: name, kind: kind, settings: {}, measure: -> { watch(program) })
    end

    def watch(program)
      child = RubySide.spawn(program,
        {bootstrap: broker.bootstrap, group: group, settings: {}, body: "idle", topics: ["bench-idle"]})
      sleep SETTLE_S
      before = observe(child.pid)
      sleep seconds
      after = observe(child.pid)
      raise child.failure("ended instead of being idle") if child.ended?

      {"cpu_s" => (after[:cpu_s] - before[:cpu_s]).round(3), "threads" => after[:threads], "rss_mb" => after[:rss_mb],
       "switches_per_s" => ((after[:switches] - before[:switches]) / seconds.to_f).round(1)}
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

    def above(results)
      ours, theirs = ["Penstock", "Karafka"].map { |side| values(results, side, "switches_per_s") }
      Statistics.differences(ours, theirs)
    end
  end
end
