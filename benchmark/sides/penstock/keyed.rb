# frozen_string_literal: true

# One partition, keys in parallel. The workloads differ in the body, selected by its name.
require_relative "settings"

# The records of each key arrived in order, or `disordered` counts those that didn't.
module Order
  LAST = Hash.new(-1)
  WRONG = []

  def self.look(message)
    key = message.raw_key
    WRONG << key if LAST[key] >= message.offset
    LAST[key] = message.offset
  end
end

module KeyedBodies
  # Each record waits as a call to a database would, or not at all.
  module Keyed
    WAIT_S = (Probe["wait_ms"] || 0) / 1000.0
    COUNTER = Mutex.new

    def consume
      PROBE.first
      messages.each do |message|
        Order.look(message)
        sleep(WAIT_S) if WAIT_S.positive?
      end
      counted(messages.size)
    end

    private

    def counted(count)
      COUNTER.synchronize do
        @@seen = (defined?(@@seen) ? @@seen : 0) + count
        PROBE.finish({disordered: Order::WRONG.size}, records: @@seen) if @@seen >= Probe["records"]
      end
    end
  end

  # "<sequence> <stamp>": the latency of each record, except those of the poisoned key, which always fails.
  module Poison
    SAMPLES = []
    POISON = Probe["poison"]

    def consume
      messages.each do |message|
        sequence, stamp = message.raw_payload.split.map(&:to_i)
        PROBE.event("ready") if sequence.zero?
        PROBE.first
        raise "poison" if message.raw_key == POISON
        sleep(Probe["wait_ms"] / 1000.0)
        SAMPLES << (PROBE.now_ns - stamp) if sequence >= Probe["warm"]
        PROBE.finish(PROBE.percentiles(SAMPLES), records: SAMPLES.size) if sequence >= Probe["last"]
      end
    end
  end

  # Takes a random time and records each finished record, before its completion is settled.
  module Journal
    FILE = Probe["journal"] && File.open(Probe["journal"], "a").tap { |file| file.sync = true }
    DONE = []

    def consume
      messages.each do |message|
        sleep(rand * 2 * Probe["wait_ms"] / 1000.0)
        FILE.write("#{message.offset} #{PROBE.now_ns}\n")
        DONE << true
        PROBE.event("enough") if DONE.size == Probe["enough"]
      end
    end
  end

  # Ten workers compute, one record in a hundred is marked, and the worker waits for the broker's answer.
  module Window
    WAITS = []

    def consume
      PROBE.first
      messages.each do |message|
        busy_until(PROBE.now_ns + 1_000_000)
        next unless (message.offset % 100).zero?
        began = PROBE.now_ns
        mark_as_consumed!(message)
        WAITS << (PROBE.now_ns - began)
        PROBE.finish({samples: WAITS.size, **PROBE.percentiles(WAITS)}, records: WAITS.size * 100, leave: false) if
          WAITS.size == Probe["samples"]
      end
    end

    private

    def busy_until(end_ns)
      nil while PROBE.now_ns < end_ns
    end
  end

  def self.[](name) = const_get(name.capitalize)
end

class BenchConsumer < Penstock::BaseConsumer
  include KeyedBodies[Probe["body"]]
end

class PenstockApp
  routes.draw do
    topic(Probe["topics"].first) do
      consumer BenchConsumer
      parallel by: :key
    end
  end
end

# The offsets that the broker has acknowledged, and when that was known.
if Probe["journal"]
  Penstock.monitor.subscribe("offsets.committed") { KeyedBodies::Journal::FILE.write("committed #{PROBE.now_ns}\n") }
end
Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) unless event[:error].message == "poison" }
exit PenstockApp.run!
