# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The replays of a restart in the middle of work: records that were done, and run again.
  class Restart < Workload
    NAME = "RESTART"
    TOPIC = "bench-restart"
    TITLE = "10,000 records in flight that end out of order, 100 workers; stopped by TERM, or by kill -9; what runs twice"
    SETTINGS = {"concurrency" => 100, "window_records" => 10_000, "max_messages" => 1,
                "kafka" => {"auto.commit.interval.ms" => "500", "session.timeout.ms" => "6000"}}.freeze
    # All in flight at the same time, and as many after them. Never scaled: a tenth would end before the first commit.
    RECORDS = 20_000
    WAIT_MS = 20
    # A commit may have been acknowledged but not yet recorded.
    SLACK_MS = 50

    def columns = %w[done replayed replayed_beyond lost]

    def prepare = topics.fill_keys(TOPIC, records: RECORDS, keys: RECORDS)

    def sides
      %w[TERM KILL].map do |signal|
        Side.new(name: signal, kind: :ours, settings: SETTINGS, measure: -> { measure(signal) })
      end
    end

    def figures(results)
      [
        at_most("replayed after TERM", values(results, "TERM", "replayed"), 0),
        at_most("replayed after kill -9 though committed", values(results, "KILL", "replayed_beyond"), 0),
        seen("replayed after kill -9", values(results, "KILL", "replayed")),
        at_most("lost", values(results, "TERM", "lost") + values(results, "KILL", "lost"), 0)
      ]
    end

    private

    def measure(signal)
      member = group
      before, committed_at = first_life(member, signal)
      after = second_life(member, before)
      again = before.keys & after.keys
      {"done" => before.size, "replayed" => again.size, "lost" => RECORDS - (before.keys | after.keys).size,
       "replayed_beyond" => again.count { |offset| before[offset] < committed_at - (SLACK_MS * 1_000_000) }}
    end

    # Half of the records, then the signal.
    # @return [Array(Hash{Integer => Integer}, Integer)] when each was done; when the last commit was acknowledged
    def first_life(member, signal)
      life(member) do |child, journal|
        child.await("enough", within: 120)
        child.signal(signal)
        child.wait_exactly(within: 30)
        read(journal)
      end
    end

    # Until everything is done, or nothing more for ten seconds: longer than the group waits for a member that was
    # killed.
    def second_life(member, before)
      life(member) do |_child, journal|
        seen = nil
        after = {}
        until (before.keys | after.keys).size == RECORDS || seen == after.size
          seen = after.size
          100.times { (sleep 0.1) && ((after = read(journal).first).size > seen) && break }
        end
        after
      end
    end

    def life(member)
      journal = File.join(RubySide::ROOT, "benchmark/tmp/#{SecureRandom.hex(6)}.journal")
      child = RubySide.spawn("penstock/keyed.rb", {bootstrap: broker.bootstrap, group: member, settings: SETTINGS,
        body: "journal", topics: [TOPIC], enough: RECORDS / 2, wait_ms: WAIT_MS, journal: journal})
      yield child, journal
    ensure
      child&.stop
      FileUtils.rm_f(journal) if journal
    end

    def read(journal)
      return [{}, 0] unless File.exist?(journal)
      committed, done = File.readlines(journal).map(&:split).partition { |name, _at| name == "committed" }
      [done.to_h { |offset, at| [offset.to_i, at.to_i] }, committed.map { |_name, at| at.to_i }.max || 0]
    end
  end

  # The effect of computing workers on the loop: how long a commit that is waited for takes, and a stop.
  class Window < Workload
    NAME = "WINDOW"
    TITLE = "10 workers that compute, 1 ms a record, by key: a commit that is waited for; a stop while all are at it"
    RECORDS = 200_000
    SETTINGS = {"concurrency" => 10, "window_records" => 10_000}.freeze

    def columns = %w[p50_ms p99_ms max_ms stop_s]

    def prepare = topics.fill_keys("bench-window", records: RECORDS, keys: 1_000)

    def sides = [Side.new(name: "Penstock", kind: :ours, settings: SETTINGS, measure: -> { measure })]

    def figures(results)
      [
        seen("commit p50", values(results, "Penstock", "p50_ms"), "ms"),
        seen("commit p99", values(results, "Penstock", "p99_ms"), "ms"),
        seen("TERM while all compute", values(results, "Penstock", "stop_s"), "s")
      ]
    end

    private

    def measure
      child = RubySide.spawn("penstock/keyed.rb", {bootstrap: broker.bootstrap, group: group, settings: SETTINGS,
        body: "window", topics: ["bench-window"], samples: options.quick ? 20 : 200})
      result = child.await("result", within: 170)
      asked = Bench.now_ns
      child.signal("TERM")
      result.merge("stop_s" => ((child.wait_exactly(within: 40) - asked) / 1e9).round(3))
    ensure
      child&.stop
    end
  end
end
