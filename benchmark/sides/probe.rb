# frozen_string_literal: true

require "json"

# The reporting of every measured Ruby process: parameters from the harness, stamps, CPU seconds, memory, allocated
# objects. Thread-safe; the first and the last record may be seen by different threads.
class Probe
  PARAMETERS = JSON.parse(ENV.fetch("BENCH_PARAMETERS", "{}"))
  SPAWNED_NS = ENV.fetch("BENCH_SPAWNED_NS", "0").to_i

  attr_reader :records

  def initialize
    @pipe = IO.for_fd(ENV.fetch("BENCH_FD", "1").to_i, autoclose: false)
    @lock = Mutex.new
    @records = 0
    @bytes = 0
  end

  def self.[](name) = PARAMETERS[name]

  # Settings of the side, librdkafka's own, with Symbols as keys.
  def self.kafka(**more)
    {"bootstrap.servers": PARAMETERS["bootstrap"], **more,
     **(PARAMETERS.dig("settings", "kafka") || {}).transform_keys(&:to_sym)}
  end

  def now_ns
    ::Process.clock_gettime(::Process::CLOCK_MONOTONIC, :nanosecond)
  end

  # Call when the first record has arrived, or just before the first is produced. Later calls do nothing.
  def first
    return if @first_ns

    @lock.synchronize do
      next if @first_ns

      @cpu = cpu_seconds
      @allocated = GC.stat(:total_allocated_objects)
      @gc_count = GC.count
      @first_ns = now_ns
    end
  end

  # Counts records; reports and ends the process when `wanted` of them have arrived.
  def add(count, bytes = 0, wanted: PARAMETERS["records"])
    @lock.synchronize do
      @records += count
      @bytes += bytes
      finish if wanted && @records >= wanted
    end
  end

  # Reports the result. Ends the process at once by default, without closing anything: the measurement has ended, and
  # each run has a group of its own.
  def finish(extra = {}, records: @records, leave: true)
    last_ns = now_ns
    result = {event: "result", first_ns: @first_ns, last_ns: last_ns, records: records, bytes: @bytes,
              boot_s: ((@first_ns - SPAWNED_NS) / 1e9).round(4), cpu_s: (cpu_seconds - @cpu).round(3),
              allocated: GC.stat(:total_allocated_objects) - @allocated, gc: GC.count - @gc_count,
              rss_kb: status("VmHWM"), rss_end_kb: status("VmRSS"), threads: status("Threads")}
    report(result.merge(extra))
    exit!(0) if leave
  end

  def event(name, extra = {})
    report({event: name, at_ns: now_ns}.merge(extra))
  end

  # p50 and p99 in ms of samples in ns.
  def percentiles(samples)
    sorted = samples.sort
    {p50_ms: sorted[sorted.size / 2] / 1e6, p99_ms: sorted[(sorted.size * 0.99).floor] / 1e6, max_ms: sorted.last / 1e6}
  end

  # Reports to the harness an error that the library reported, the first of a run.
  def error(error)
    return if @error

    @error = "#{error.class}: #{error.message}"
    event("error", message: @error)
  end

  private

  def report(values)
    @pipe.write("#{JSON.generate(values)}\n")
    @pipe.flush
  end

  def cpu_seconds
    ::Process.clock_gettime(::Process::CLOCK_PROCESS_CPUTIME_ID)
  end

  def status(field)
    File.read("/proc/self/status")[/^#{field}:\s+(\d+)/, 1].to_i
  end
end

PROBE = Probe.new
