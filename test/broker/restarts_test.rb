# frozen_string_literal: true

require "test_helper"
require "support/ledger/scenario"

module Penstock
  # Two processes consume 40,000 records while they are stopped and started again in turn.
  class RestartsTest < TestCase
    include TestSupport::RealBroker

    COUNT = 40_000
    ROUNDS = 10
    KAFKA = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500}.freeze

    def setup
      @scenario = TestSupport::Ledger::Scenario.new(bootstrap_servers, topics: [unique("restarts")], group: unique("g"))
      @scenario.produce(COUNT)
    end

    def teardown = @scenario&.close

    test "ten stops by TERM with units running: nothing lost, nothing twice, all in order" do
      with_restarts("TERM") { |worker| assert_equal 0, worker.status.exitstatus, @scenario.tail(worker) }
      journal = @scenario.journal
      assert_empty journal.lost(@scenario.produced).first(10)
      assert_empty journal.duplicates.first(10)
      assert_empty journal.out_of_order.first(10)
      assert_empty journal.overlaps.first(10)
    end

    test "ten stops by kill -9: nothing lost, in order, and only what was done since the last commit runs twice" do
      killed = []
      with_restarts("KILL") { |worker| killed << worker }
      journal = @scenario.journal
      assert_empty journal.lost(@scenario.produced).first(10)
      assert_empty journal.out_of_order.first(10)
      doubled = journal.doubled_by_process
      killed.each { |worker| assert_operator doubled[worker.journal_path], :<=, uncommitted(worker), worker.name }
      assert_empty doubled.keys - killed.map(&:journal_path)
    end

    private

    # Each process is stopped while a unit of it runs, which its journal shows.
    def with_restarts(signal)
      workers = Array.new(2) { start }
      ROUNDS.times do |round|
        worker = workers[round % 2]
        @scenario.wait_for(worker, "B")
        count = worker.entries.count { |entry| entry.kind == "E" }
        wait_until(20, "progress") { worker.entries.count { |entry| entry.kind == "E" } > count + 200 }
        @scenario.stop(worker, signal)
        assert running_at_stop?(worker, signal), "#{worker.name} was idle when it was stopped"
        yield worker
        workers[round % 2] = start
      end
      @scenario.wait_for_all(90)
      workers.each { |worker| @scenario.stop(worker) }
    end

    def start = @scenario.start(kafka: KAFKA, work_ms: 3, max_messages: 50, config: {})

    def running_at_stop?(worker, signal)
      begun, ended = %w[B E].map { |kind| worker.entries.count { |entry| entry.kind == kind } }
      (signal == "KILL") ? begun >= ended : ended.positive?
    end

    # The records that it ended within the commit interval and a second before its end.
    def uncommitted(worker)
      entries = worker.entries
      last = entries.last.at
      entries.count { |entry| entry.kind == "E" && entry.at >= last - 6_000 }
    end
  end
end
