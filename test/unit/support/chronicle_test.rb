# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/fault_runs/chronicle"

module Penstock
  class ChronicleTest < TestCase
    include TestSupport

    test "a process is silenced if it was killed or frozen within the time, not if it was stopped or continued" do
      Dir.mktmpdir do |folder|
        chronicle = FaultRuns::Chronicle.new(File.join(folder, "chronicle"))
        {1 => "KILL", 2 => "SIGSTOP", 3 => "TERM", 4 => "CONT"}.each { |pid, name| chronicle.signal(pid, name) }
        at = chronicle.signals.map(&:at)

        assert_equal([true, true, false, false], (1..4).map { |pid| chronicle.silenced?([pid], at.first, at.last) })
        assert_equal [false, true], [[1, 3], [2, 3]].map { |pids| chronicle.silenced?(pids, at[1], at.last) }
      ensure
        chronicle&.close
      end
    end
  end
end
