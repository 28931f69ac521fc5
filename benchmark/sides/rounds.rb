# frozen_string_literal: true

require_relative "probe"

# Measures calls of a block on one thread, in rounds; the best counts, because the machine may have other work.
class Rounds
  ROUNDS = 10

  # Lets gems be loaded that aren't Penstock's own: those of the folder in the parameter `gems`.
  # @return [void]
  def self.use_gems
    gems = File.join(Probe["gems"], "ruby", RbConfig::CONFIG["ruby_version"])
    Gem.paths = {"GEM_HOME" => gems, "GEM_PATH" => [Gem.dir, gems].join(File::PATH_SEPARATOR)}
  end

  def initialize(calls) = @calls = [calls / ROUNDS, 1].max

  # @return [Array(Float, Float)] µs of CPU time and objects a call
  def best
    found = Array.new(ROUNDS) do
      allocated, began = GC.stat(:total_allocated_objects), cpu_ns
      @calls.times { yield }
      [(cpu_ns - began) / 1_000.0 / @calls, (GC.stat(:total_allocated_objects) - allocated).fdiv(@calls)]
    end
    found.transpose.map(&:min)
  end

  private

  def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end
