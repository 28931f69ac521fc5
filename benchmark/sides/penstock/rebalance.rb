# frozen_string_literal: true

# One round: a process joins and leaves a group whose other member works. Reports the effect on the partitions that
# stay.

require_relative "../probe"
$LOAD_PATH.unshift(File.expand_path("../../../test", __dir__))
require "support/ledger/rebalance"

group = Probe["group"]
scenario = Penstock::TestSupport::Ledger::Scenario.new(Probe["bootstrap"], topics: ["rebalance-#{group}"], group: group)
begin
  round = Penstock::TestSupport::Ledger::Rebalance.new(scenario, Probe["protocol"]).run
  journal = scenario.journal
  PROBE.event("result", gap_ms: round.gaps.values.max, calm_ms: round.calm_gap, fed_gap_ms: scenario.longest_pause_ms.round,
    twice: journal.duplicates.size, lost: journal.lost(scenario.produced).size)
ensure
  scenario.close
end
