# frozen_string_literal: true

# An application whose processes are watched from outside: a server, a swarm, or one with a mold. Every finished record
# is a line in the journal, and so is every process that runs.
require_relative "settings"
require Probe["application"] if Probe["application"]

module SwarmBodies
  # A paced load on a large application.
  module Large
    def do_record(message)
      LargeApplication.work(message.offset)
      sleep(Probe["wait_ms"] / 1000.0)
    end
  end

  # Only waits.
  module Paced
    def do_record(_message) = sleep(Probe["wait_ms"] / 1000.0)
  end

  # Only computes.
  module Compute
    def do_record(_message)
      ends = PROBE.now_ns + Probe["busy_us"] * 1_000
      nil while PROBE.now_ns < ends
    end
  end

  def self.[](name) = const_get(name.capitalize)
end

class BenchConsumer < Penstock::BaseConsumer
  include SwarmBodies[Probe["body"]]

  JOURNAL = File.open(Probe["journal"], File::WRONLY | File::CREAT | File::APPEND)

  def self.write(*words) = JOURNAL.syswrite("#{words.join(" ")} #{PROBE.now_ns}\n")

  # One write per batch if there is no line per record: the journal must not be what is measured.
  def consume
    messages.each do |message|
      do_record(message)
      self.class.write("record", ::Process.pid, message.partition, message.offset) if Probe["each"]
    end
    self.class.write("batch", ::Process.pid, messages.size) unless Probe["each"]
  end
end

class PenstockApp
  routes.draw do
    Probe["topics"].each { |name| topic(name) { consumer BenchConsumer } }
  end

  # As docs/swarm.md recommends: work that all nodes repeat is done once where a mold shares it, and collected now and
  # then.
  if Probe["settings"].dig("swarm", "mold") && Probe["application"]
    monitor.subscribe("app.before_warmup") do
      3_000.times do |seed|
        LargeApplication.work(seed)
        GC.start(full_mark: false) if (seed % 20).zero?
      end
    end
  end
  monitor.subscribe("app.running") { BenchConsumer.write("running", ::Process.pid, PenstockApp.node || "-") }
end

Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) unless Probe["kills"] }
exit Probe["swarm"] ? PenstockApp.swarm! : PenstockApp.run!
