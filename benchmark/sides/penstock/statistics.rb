# frozen_string_literal: true

# The statistics of a client that knows many partitions and is assigned a few: what one emission costs in Ruby, from librdkafka's
# text to the Hash that listeners get.
require_relative "settings"

# Measures the work of the reporter's thread; the process is idle otherwise.
module Measured
  TICKS = []

  def decorate(*, &)
    began, before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID), GC.stat(:total_allocated_objects)
    super
  ensure
    TICKS << [Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - began, GC.stat(:total_allocated_objects) - before]
  end

  # @return [Hash{Symbol => Numeric}] medians, without the first ticks, which fill caches
  def self.medians
    seconds, objects = TICKS.drop(2).transpose.map { |values| values.sort[values.size / 2] }
    {tick_ms: (seconds * 1_000).round(3), tick_objects: objects}
  end
end

Penstock::Runtime::ProcessContext.prepend(Measured)

class IdleConsumer < Penstock::BaseConsumer
  def consume = nil
end

class PenstockApp
  setup { |config| config.kafka = Probe.kafka("statistics.interval.ms": 1_000) }

  routes.draw do
    topic Probe["topics"].first do
      consumer IdleConsumer
      assign 0...Probe["assigned"]
    end
  end
end

Penstock.monitor.subscribe("error.occurred") { |event| PROBE.error(event[:error]) }
Penstock.monitor.subscribe("statistics.emitted") do |event|
  PROBE.first
  next if event[:statistics].dig("topics", Probe["topics"].first, "partitions").to_h.size < Probe["assigned"]
  PROBE.finish(Measured.medians) if Measured::TICKS.size > Probe["ticks"]
end

exit PenstockApp.run!
