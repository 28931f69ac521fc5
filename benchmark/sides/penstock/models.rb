# frozen_string_literal: true

# The classic comparison of execution models: what a record's work does (it computes, it waits) against where it runs.
# Records are counted where they are settled, in the application's process, for a given time.
require_relative "../probe"
vendor = Dir[File.expand_path("../../../vendor/bundle/ruby/*", __dir__)].first
Gem.paths = {"GEM_HOME" => Gem.dir, "GEM_PATH" => [Gem.dir, *vendor].join(File::PATH_SEPARATOR)}
require "penstock"

# The cost of a record. `blocking` waits without the fiber scheduler's knowledge, as C libraries do.
module Work
  module_function

  # @return [Integer] rounds of pure Ruby that take a millisecond here
  def rounds_a_ms
    rounds = 200_000
    best = Array.new(5) do # in CPU time: the machine may have other work
      began = cpu_ns
      compute(rounds)
      cpu_ns - began
    end.min
    (rounds * 1_000_000.0 / best).round
  end

  def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

  def compute(rounds)
    sum = 0
    rounds.times { |index| sum += index & 3 }
    sum
  end

  def busy = compute(ROUNDS)
  def async = sleep(WAIT_S)
  def blocking = Fiber.new(blocking: true) { sleep(WAIT_S) }.resume
  def mixed = busy && async

  ROUNDS = (rounds_a_ms * Probe["busy_ms"]).round
  WAIT_S = Probe["wait_ms"] / 1000.0
end

class BenchConsumer < Penstock::BaseConsumer
  WORK = Work.method(Probe["work"])

  def consume = messages.each { WORK.call }
end

class ForkingConsumer < BenchConsumer
  def consume
    pid = fork do
      super
    ensure
      exit!(0)
    end
    Process.wait(pid)
  end
end

class PenstockApp < Penstock::App
  setup do |config|
    config.client_id = "bench"
    config.group_id = Probe["group"]
    config.kafka = Probe.kafka
    config.concurrency = Probe["at_once"]
    config.initial_offset = "earliest"
  end

  routes.draw do
    topic Probe["topics"].first do
      consumer((Probe["model"] == "fork") ? ForkingConsumer : BenchConsumer)
      parallel by: :message, max_partitions: Probe["at_once"]
      run_on(Probe["model"], max: Probe["at_once"]) if %w[fibers processes].include?(Probe["model"])
    end
  end
end

Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
# While the first records are processed, processes are still being forked and threads started.
warm = Probe["at_once"] * 4
Penstock.monitor.subscribe("consumer.consumed") do |event|
  next warm -= event[:messages_count] if warm.positive?
  unless @began
    @began = true
    Thread.new do
      sleep(Probe["seconds"])
      PROBE.finish
    end
  end
  PROBE.first
  PROBE.add(event[:messages_count], wanted: nil)
end

exit PenstockApp.run!
