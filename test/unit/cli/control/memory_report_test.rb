# frozen_string_literal: true

require "test_helper"
require "penstock/cli/control/memory_report"

module Penstock
  module CLI
    module Control
      class MemoryReportTest < TestCase
        STATUS = {pid: 10, kind: "swarm", mold: {state: "idle", pid: 11},
                  nodes: [{node: 0, pid: 12}, {node: 1, pid: nil}, {node: 2, pid: 14}]}.freeze

        def memory(rss, pss, own) = Memory.new("Rss: #{rss} kB\nPss: #{pss} kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: #{own} kB\n")

        def report(table = {}, status: STATUS)
          MemoryReport.new(status, memory_of: ->(pid) { table.fetch(pid, memory(102_400, 40_960, 25_600)) })
        end

        test "one row per process, with the sum of their real memory" do
          lines = report({12 => memory(204_800, 61_440, 102_400)}).to_s.lines.map { |line| line.split.join(" ") }

          assert_equal ["process pid rss_mb pss_mb shared", "supervisor 10 100 40 75 %", "mold 11 100 40 75 %",
            "node 0 12 200 60 50 %", "node 2 14 100 40 75 %", "all - - 180 -"], lines
        end

        test "without a mold there is no row for it" do
          assert_equal ["supervisor", "node 0", "node 2"], report(status: STATUS.except(:mold)).to_a.map { |row| row[:process] }
        end

        test "a process whose memory can't be read is reported with the reason" do
          made = report({12 => Memory.new("", problem: "Permission denied")})

          refute_predicate made, :complete?
          assert_match(/^node 0: its memory can't be read \(Permission denied\)/, made.to_s)
          assert_predicate report, :complete?
        end

        test "a process that doesn't exist is reported" do
          assert_match(/No such file/, Memory.of(4_194_305).problem)
        end
      end
    end
  end
end
