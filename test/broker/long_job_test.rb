# frozen_string_literal: true

require "test_helper"
require "support/ledger/scenario"

module Penstock
  # A job that takes three times max.poll.interval.ms, once sleeping and once burning CPU, both at the same time in
  # processes and groups of their own.
  class LongJobTest < TestCase
    include TestSupport::RealBroker

    MAX_POLL_MS = 6_000
    # Records a second, of 50 that arrive in each partition. While another thread computes, Ruby 3.1 runs 43 of them, Ruby 3.3
    # 8: there a thread that reads or writes, as the journal makes it do for each record, gets Ruby's lock back after 100 ms.
    CONTINUES = 2.5
    KAFKA = {"max.poll.interval.ms": MAX_POLL_MS, "session.timeout.ms": 6_000, "heartbeat.interval.ms": 500}.freeze

    def setup
      @scenarios = %w[idle burn].to_h do |kind|
        [kind, TestSupport::Ledger::Scenario.new(bootstrap_servers, topics: [unique(kind)], group: unique("g"), partitions: 3)]
      end
    end

    def teardown = @scenarios&.each_value(&:close)

    test "[LRJ] a job of three times max.poll.interval.ms causes no rebalance, and the other partitions continue" do
      runs = @scenarios.map { |kind, scenario| Thread.new { job(kind, scenario) } }.map(&:value)
      runs.each do |kind, worker, rates|
        assert_empty worker.entries.take_while { |entry| entry.kind != "S" }.select { |entry| entry.kind == "R" }, kind
        rates.each { |partition, rate| assert_operator rate, :>, CONTINUES, "#{kind}: partition #{partition}" }
      end
    end

    private

    def job(kind, scenario)
      worker = scenario.start(kafka: KAFKA, max_messages: 10)
      scenario.wait_for(worker, "A")
      scenario.feeding(0.02) do
        scenario.wait_for(worker, "E")
        scenario.produce_one(0, "#{kind}:#{3 * MAX_POLL_MS}")
        wait_until(60, "the long job", every: 0.2) { finished_long(worker) }
      end
      rates = rates(worker, *finished_long(worker))
      puts "  #{kind}: records/s of the other partitions meanwhile: #{rates}" if ENV["PENSTOCK_SHOW"]
      scenario.stop(worker)
      [kind, worker, rates]
    end

    # Begin and end of the record that took that long.
    def finished_long(worker)
      begun = {}
      worker.entries.each do |entry|
        begun[entry.offset] = entry.at if entry.kind == "B" && entry.partition.zero?
        next unless entry.kind == "E" && entry.partition.zero? && entry.at - begun.fetch(entry.offset,
          entry.at) > 2.9 * MAX_POLL_MS
        return [begun[entry.offset], entry.at]
      end
      nil
    end

    def rates(worker, from, to)
      ended = worker.entries.select { |entry| entry.kind == "E" && entry.at.between?(from, to) && entry.partition.positive? }
      ended.group_by(&:partition).transform_values { |list| (list.size / ((to - from) / 1000.0)).round(1) }
    end
  end
end
