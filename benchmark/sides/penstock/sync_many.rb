# frozen_string_literal: true

# Many callers produce and wait, and pause in between, so that reports arrive one at a time; each call is timed.
require_relative "../probe"
vendor = Dir[File.expand_path("../../../vendor/bundle/ruby/*", __dir__)].first
Gem.paths = {"GEM_HOME" => Gem.dir, "GEM_PATH" => [Gem.dir, *vendor].join(File::PATH_SEPARATOR)}
require "penstock"

# The loop of each caller, until there are enough samples.
class Loops
  MESSAGE = {topic: Probe["topic"], payload: "x" * 100}.freeze
  THINK_S = Probe["think_ms"] / 1000.0
  WAITING = Probe["waiting"]

  def initialize
    @producer = Penstock::Producer.new { |config| config.kafka = Probe.kafka("request.required.acks": "all") }
    100.times { @producer.produce_sync(**MESSAGE) }
    @samples = []
    @flooded = 0
    PROBE.first
    @begun_ns = PROBE.now_ns
  end

  def threads
    Array.new(WAITING) { Thread.new { timed until enough? } }.each(&:join)
  end

  def fibers
    require "async"
    Sync { |task| Array.new(WAITING) { task.async { timed until enough? } }.each(&:wait) }
  end

  def flood
    flood = Thread.new { @producer.produce_async(**MESSAGE, handle: false) && (@flooded += 1) until enough? }
    timed until enough?
    flood.join
  end

  def finish
    seconds = (PROBE.now_ns - @begun_ns) / 1e9
    PROBE.finish({flood_rate: (@flooded / seconds).round, **PROBE.percentiles(@samples)}, records: @samples.size)
  end

  private

  def enough? = @samples.size >= Probe["records"]

  def timed
    sleep(rand * THINK_S * 2) if THINK_S.positive?
    return if enough?
    begun = PROBE.now_ns
    @producer.produce_sync(**MESSAGE)
    @samples << (PROBE.now_ns - begun)
  end
end

loops = Loops.new
loops.public_send(Probe["model"])
loops.finish
