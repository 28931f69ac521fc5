# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # P10: how long a deploy waits: from exec to the first record, from TERM to the end when idle, and when a job runs.
  class Boot < Workload
    NAME = "P10"
    TITLE = "boot to the first record; TERM when idle; TERM with 1.7 s of a job left (beyond the job); penstock --help"
    JOB_MS = 3_000
    LEFT_S = 1.7

    def columns = %w[boot_s stop_s stop_beyond_job_s help_s]

    def prepare
      topics.fill_evenly("bench-boot", partitions: 1, records: 1)
    end

    def sides
      [
        idle("Penstock", :ours, "penstock/server.rb"), idle("Karafka", :peer, "karafka/server.rb"),
        busy("Penstock, busy", :ours, "penstock/server.rb"), busy("Karafka, busy", :peer, "karafka/server.rb"),
        Side.new(name: "penstock --help", kind: :ours, settings: {}, measure: -> { help })
      ]
    end

    def figures(results)
      [
        at_most("exec to the first record", values(results, "Penstock", "boot_s"), 0.4, "s"),
        at_most("TERM when idle", values(results, "Penstock", "stop_s"), 0.3, "s"),
        at_most("TERM with a job running, beyond the job", values(results, "Penstock, busy", "stop_beyond_job_s"), 0.3,
          "s"),
        at_most("penstock --help", values(results, "penstock --help", "help_s"), 0.2, "s")
      ]
    end

    private

    def idle(name, kind, program)
      Side.new(name: name, kind: kind, settings: {}, measure: lambda {
        server(program, 0) do |child, first|
          child.await("done", within: 10)
          sleep 2
          {"boot_s" => seconds(child.spawned_ns, first["at_ns"]), "stop_s" => term(child)}
        end
      })
    end

    def busy(name, kind, program)
      Side.new(name: name, kind: kind, settings: {}, measure: lambda {
        server(program, JOB_MS) do |child, first|
          begun = first["at_ns"]
          sleep([(JOB_MS / 1000.0) - LEFT_S - seconds(begun, Bench.now_ns), 0].max)
          term(child)
          {"stop_beyond_job_s" => (seconds(begun, child.ended_ns) - (JOB_MS / 1000.0)).round(3)}
        end
      })
    end

    def server(program, job_ms)
      child = RubySide.spawn(program, {bootstrap: broker.bootstrap, group: group, settings: {}, body: "boot",
        topics: ["bench-boot"], job_ms: job_ms})
      yield child, child.await("first", within: 30)
    ensure
      child&.stop
    end

    def term(child)
      asked = Bench.now_ns
      child.signal("TERM")
      seconds(asked, child.wait_exactly(within: 30))
    end

    def help
      executable = File.join(RubySide::ROOT, "exe/penstock")
      child = RubySide.spawn("penstock/help", {}, arguments: [executable, "--help"])
      {"help_s" => seconds(child.spawned_ns, child.wait_exactly(within: 10))}
    ensure
      child&.stop
    end

    def seconds(from_ns, to_ns)
      ((to_ns - from_ns) / 1e9).round(4)
    end
  end
end
