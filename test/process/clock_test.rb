# frozen_string_literal: true

require "test_helper"
require "support/clock/scenario"

module Penstock
  # Wall clocks that are set while a server runs. test/ledger/clock_test.rb has more of this.
  class ClockProcessTest < TestCase
    include TestSupport::Jumping::Scenario

    test "T35: a back-off has its full length, whether the wall clock is set ahead or back meanwhile" do
      produce("fails")
      servers = {3_600 => jumping(:ahead), -3_600 => jumping(:back)}
      servers.each_value { |server| await_times(server, "fails", 1) }
      servers.each { |seconds, server| clock((seconds > 0) ? :ahead : :back).set(seconds) && await_times(server, "fails", 3) }

      servers.each_value do |server|
        gaps = times(server, "fails").each_cons(2).map { |first, second| second - first }
        assert_operator gaps.min, :>=, 1_490, "too early: #{gaps}"
        server.await("its end") { server.journal.include?("end fails") }
        stop(server)
      end
    end
  end
end
