# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # Shared by the workloads of one partition whose keys run in parallel.
  module SideBySide
    private

    def keyed(name, settings = {}, **parameters, &after)
      ruby(name, :ours, "penstock/keyed.rb", {"concurrency" => 10, **settings}, **parameters, &after)
    end
  end

  # P5: keys in parallel where each record waits.
  class Keyed < Workload
    include SideBySide

    NAME = "KEYED"
    TITLE = "P5: one partition, 100,000 records of 1,000 keys, 2.5 ms each, 100 workers; order of each key checked"
    WORKERS = {"concurrency" => 100, "window_records" => 10_000, "max_messages" => 10}.freeze
    # With the log of default settings, too.
    DEFAULTS = {"concurrency" => 100}.freeze
    WAIT_MS = 2.5

    def columns = %w[rate disordered cpu_s rss_mb objects]

    def prepare = topics.fill_keys(topic, records: records, keys: 1_000)

    def sides
      [
        keyed("Penstock", WORKERS, body: "keyed", topics: [topic], records: records, wait_ms: WAIT_MS),
        keyed("Penstock, defaults", DEFAULTS, body: "keyed", topics: [topic], records: records, wait_ms: WAIT_MS),
        ruby("bare threads", :bound, "ruby/threads.rb", {"concurrency" => 100}, records: records, wait_ms: WAIT_MS)
      ]
    end

    def figures(results)
      [
        at_least("records a second", values(results, "Penstock", "rate"), 29_000, "/s"),
        at_least("at default settings, records a second", values(results, "Penstock, defaults", "rate"), 27_300, "/s"),
        seen("share of bare threads", ratio(results, "Penstock", "bare threads"), "×"),
        at_most("records out of their key's order", values(results, "Penstock", "disordered"), 0)
      ]
    end

    private

    def records = scaled(100_000)

    def topic = "bench-keyed-#{records}"
  end

  # The cost of handing out records by key when the records themselves cost nothing.
  class KeyedNoop < Workload
    include SideBySide

    NAME = "KEYED-NOOP"
    TITLE = "one partition by key without work, 10 workers, window 10,000: 1,000 keys; a key a record"
    SETTINGS = {"window_records" => 10_000}.freeze

    def columns = %w[a_cpu_second rate disordered objects rss_mb]

    def prepare
      topics.fill_keys(topic(1_000), records: records, keys: 1_000)
      topics.fill_keys(topic(records), records: records, keys: records)
    end

    def sides = [side("1,000 keys", 1_000), side("a key a record", records)]

    def figures(results)
      [
        at_least("1,000 keys, records a CPU second", values(results, "1,000 keys", "a_cpu_second"), 150_000),
        at_least("a key a record, records a CPU second", values(results, "a key a record", "a_cpu_second"), 60_000),
        at_most("records out of their key's order", values(results, "1,000 keys", "disordered"), 0)
      ]
    end

    private

    def side(name, keys)
      keyed(name, SETTINGS, body: "keyed", topics: [topic(keys)], records: records) do |result|
        rated(result).merge("a_cpu_second" => (result["records"] / result["cpu_s"]).round)
      end
    end

    def records = scaled(1_000_000)

    def topic(keys) = "bench-keyed-noop-#{records}-#{keys}"
  end

  # One key of a thousand always fails: the effect on the others.
  class Poison < Workload
    include SideBySide

    NAME = "POISON"
    TITLE = "1,000 keys at 1,000 records a second for 60 s, 2.5 ms each, 20 workers: one key poisoned, or none; others' latency"
    RATE = 1_000
    KEYS = 1_000
    WARM = 2_000
    SETTINGS = {"concurrency" => 20, "window_records" => 10_000}.freeze

    def columns = %w[p50_ms p99_ms max_ms cpu_s]

    def sides = [side("healthy", nil), side("poisoned", "k7")]

    def figures(results)
      [
        at_most("p50 of the others against the healthy run", ratio(results, "poisoned", "healthy", "p50_ms"), 1.05, "×"),
        at_most("p99 of the others, beyond the healthy run's or a quarter of it", beyond(results), 5, "ms")
      ]
    end

    private

    def last = WARM + (RATE * (options.quick ? 6 : 60))

    # Beyond a quarter of the healthy run's latency, or 5 ms, whichever is greater.
    def beyond(results)
      values(results, "poisoned", "p99_ms").zip(values(results, "healthy", "p99_ms")).map do |poisoned, healthy|
        next unless poisoned && healthy
        (poisoned > healthy * 1.25) ? poisoned - healthy : 0.0
      end
    end

    def side(name, key)
      Side.new(name: name, kind: :ours, settings: SETTINGS, measure: -> { pair(key) })
    end

    def pair(key)
      topic = topics.create("bench-poison-#{SecureRandom.hex(4)}")
      consumer = RubySide.spawn("penstock/keyed.rb", {bootstrap: broker.bootstrap, group: group, settings: SETTINGS,
        body: "poison", topics: [topic], poison: key, warm: WARM, last: last, wait_ms: 2.5})
      sleep 4
      run_c("pace", {}, topic: topic, records: last + 100, rate: RATE, keys: KEYS)
      rated(consumer.await("result", within: 30))
    ensure
      consumer&.stop
    end
  end
end
