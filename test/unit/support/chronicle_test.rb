# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/fault_runs/chronicle"

module Penstock
  class ChronicleTest < TestCase
    include TestSupport

    SECOND = 1_000_000

    # @param sent [Array<Array(Integer, String, Integer)>] process, signal, second
    def with(*sent)
      Dir.mktmpdir do |folder|
        chronicle = FaultRuns::Chronicle.new(File.join(folder, "chronicle"))
        sent.each { |pid, name, at| chronicle.signals << FaultRuns::Chronicle::Sent.new(pid, name, at * SECOND) }
        yield chronicle
      ensure
        chronicle&.close
      end
    end

    test "a process is silent from a kill or a freeze on, until its session has ended" do
      with([1, "KILL", 10], [2, "STOP", 10], [3, "TERM", 10]) do |chronicle|
        assert_equal([true, true, false, false], [1, 2, 3, 4].map { |pid| chronicle.silent?(pid, 55 * SECOND, 45 * SECOND) })
        assert_equal [false, false], [9, 56].map { |at| chronicle.silent?(1, at * SECOND, 45 * SECOND) }
      end
    end

    test "a process that was continued is no longer silent" do
      with([1, "STOP", 10], [1, "CONT", 20]) do |chronicle|
        assert_equal [true, false], [15, 25].map { |at| chronicle.silent?(1, at * SECOND, 45 * SECOND) }
      end
    end

    test "a process of a member that was killed after a time counts for that member only" do
      with do |chronicle|
        before = FaultRuns::Journal.now
        chronicle.fault("process killed", "17 of swarm-1")

        assert_equal([true, false], %w[swarm-1 swarm-11].map { |name| chronicle.killed_process?(name, before) })
        refute chronicle.killed_process?("swarm-1", FaultRuns::Journal.now + 1)
      end
    end
  end
end
