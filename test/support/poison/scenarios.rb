# frozen_string_literal: true

require "penstock/admin"
require_relative "../poison"

module Penstock
  # Bad records and outages, with measurements. A class that includes it has `kafka`, `create_topic`, `unique`, and
  # `scale`: how long a run is, and the limits for its measurements.
  module PoisonScenarios
    Poison = TestSupport::Poison

    # `records` of a run; `share` of their rate that good records keep next to bad ones, at least; `limit_ms` of a hold;
    # how long an outage lasts; how often a rate is measured, of which the best counts.
    Scale = Struct.new(:records, :share, :limit_ms, :outage_s, :rounds)

    # Records that fail are spread as evenly as chance would spread them, the same each time.
    def self.bad(percent) = ->(number) { ((number * 7_919) + 13) % 100 < percent }

    def self.add_to(tests)
      add_shares(tests)
      add_order(tests)
      add_most(tests)
      add_outages(tests)
    end

    def self.add_shares(tests)
      %i[key retry].each do |mode|
        how = (mode == :key) ? "by key" : "with retry topics"
        tests.test "next to 1, 5 and 20 % of bad records good ones keep their rate, and each bad one is a dead letter after " \
                   "exactly its attempts, #{how}" do
          alone = best { poison(mode, 0) }
          [1, 5, 20].each do |percent|
            run = best { poison(mode, percent) }
            exact(run)
            keeps_its_rate(mode, percent, run, alone)
          end
        end
      end
    end

    def self.add_order(tests)
      tests.test "in order a bad record costs only its own retries" do
        count = scale.records / 5
        alone = poison(:order, 0, count: count)
        run = poison(:order, 5, count: count)
        exact(run)
        retries_s = run.retries_s(partitions)
        cost = (run.seconds - alone.seconds) / retries_s
        told "in order, 5 % bad: #{run.runs.size} of them took #{(run.seconds - alone.seconds).round(2)} s more, their retries " \
             "wait #{retries_s.round(2)} s: #{cost.round(2)} ×"
        assert_operator cost, :<=, most_cost
      end
    end

    def self.add_most(tests)
      [50, 100].each do |percent|
        tests.test "at #{percent} % everything is dead-lettered or held, and held no longer than the limit" do
          run = poison(:key, percent, count: scale.records / 5, breaker: {limit: scale.limit_ms}, keys: 1_000)
          held = run.closed.map { |event| event[:held_ms] }
          told "#{percent} % bad by key: #{run.letters.uniq.size} of #{run.runs.size} dead-lettered, held #{held.size} times, " \
               "for #{held.max.to_i} ms at most (limit #{scale.limit_ms} ms)"
          assert_equal run.runs.keys.sort, run.letters.uniq.sort
          assert_operator held.max.to_i, :<=, scale.limit_ms + 1_000
          refute_empty run.opened if percent == 100
        end
      end
    end

    def self.add_outages(tests)
      errors = {"an error of an outage" => Errno::ECONNREFUSED, "another error" => IOError}
      errors.each do |what, error|
        tests.test "during an outage with #{what} no record is dead-lettered, and all are processed afterwards" do
          %i[key retry].each { |mode| outage(mode, error) }
        end
      end
    end

    private

    def partitions = 6

    # On a busy machine the time between two attempts is longer.
    def most_cost = (scale.share > 0.5) ? 1.3 : 4

    # @return [TestSupport::Poison::Result]
    def poison(mode, percent, count: scale.records, **options)
      bad = PoisonScenarios.bad(percent)
      Poison::Run.new(kafka, topic, mode, count: count, partitions: partitions, bad: bad, **options).call(180)
    end

    def topic
      unique("poison").tap do |name|
        create_topic(name, partitions)
        create_topic("#{name}.dead", partitions)
        Poison::DELAYS.size.times { |index| create_topic("#{name}-retry-#{index + 1}", partitions) }
      end
    end

    def best
      Array.new(scale.rounds) { yield }.max_by(&:rate)
    end

    def exact(run)
      assert_equal run.good, run.done.size
      assert_equal run.runs.keys.sort, run.letters.sort, "each bad record is one dead letter"
      assert_equal [Poison::ATTEMPTS], run.runs.values.uniq, "attempts" if run.runs.any?
      assert_empty run.opened.map { |event| event.slice(:count, :of, :cause) }
    end

    def keeps_its_rate(mode, percent, run, alone)
      share = run.rate / alone.rate
      told "#{mode}, #{percent} % bad: #{run.rate.round} good records/s of #{alone.rate.round} without, " \
           "#{(share * 100).round} %; #{run.letters.size} dead letters after #{Poison::ATTEMPTS} attempts each"
      assert_operator share, :>=, scale.share
    end

    def outage(mode, error)
      ends = nil
      away = lambda do
        ends ||= ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) + scale.outage_s
        error.new("database") if ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) < ends
      end
      run = poison(mode, 0, count: scale.records / 5, away: away)
      told "#{mode}, #{scale.outage_s} s without a database (#{error}): #{run.letters.size} dead letters, " \
           "#{run.done.size} of #{run.good} done, held #{run.opened.size} times"
      assert_equal [[], run.good], [run.letters, run.done.size]
      refute_empty run.opened
    end

    def told(text) = puts("  #{self.class.name.split("::").last}: #{text}")
  end
end
