# frozen_string_literal: true

require "test_helper"
require "json"
require "support/commands"
require "support/recorded_lane"

module Penstock
  # `penstock replay`: what it prints about a dump, and when it fails.
  class ReplayCommandTest < TestCase
    include TestSupport::Commands

    # @param changes [Proc] changes the recorded lanes
    def dump(lanes: recorded, **facts)
      yield lanes if block_given?
      all = {penstock_flight: 1, pid: 7, reason: "TTIN", penstock: "1.0", ruby: "3.1.2", wall_ms: 1_700_000_000_000,
             monotonic_ms: 10_000, lanes: lanes, **facts}
      File.join(@dir, "dump.json").tap { |path| File.write(path, JSON.generate(all)) }
    end

    def recorded
      pause = Routing::Pause.new(1_000, 30_000, true)
      lane = TestSupport::RecordedLane.new(max_messages: 100, pause: pause,
        features: {max_messages: 100, manual_offset_management: false, pause: pause})
      lane.take(0...4)
      lane.settle(lane.hand_out, error: KeyError.new("secret"), blamed: 2)
      lane.recordings
    end

    # The recorded outcome failed at another record than the decision that follows it shows.
    def falsified
      lambda do |lanes|
        entry = lanes.first["entries"].find { |one| one.include?("KeyError") } || flunk("no outcome")
        entry[entry.index("KeyError") + 1] = 1
      end
    end

    test "every entry is a line with its time, and the verdict is that all decisions are as recorded" do
      found = penstock("replay", dump)
      assert_equal [0, ""], [found.code, found.err]
      assert_match(%r{^orders/3$}, found.out)
      assert_match(/^  \d\d:\d\d:\d\d\.\d{3} took 0\.\.3 \(4 records\)/, found.out)
      assert_match(/unit 0 failed at 2 with KeyError/, found.out)
      assert_match(/^  \d+ decisions, all as recorded$/, found.out)
      refute_includes found.out, "secret"
    end

    test "a decision that differs is marked in the timeline, shown with both values, and fails the command" do
      found = penstock("replay", dump(&falsified))
      assert_equal 1, found.code
      assert_match(/^! .*\n/, found.out)
      assert_match(/^  DIFFERENT at entry \d+, .*:\n    recorded .*\n    replayed /, found.out)
      facts = JSON.parse(penstock("replay", dump(&falsified), "--json").out)["lanes"].first
      assert_equal %w[entry recorded replayed what], facts["difference"].keys.sort
    end

    test "as JSON it has the facts of the dump and the timeline of each partition" do
      facts = JSON.parse(penstock("replay", dump, "--json").out)
      assert_equal [7, "TTIN"], facts.values_at("pid", "reason")
      lane = facts["lanes"].first
      assert_equal ["orders", 3, nil], lane.values_at("topic", "partition", "difference")
      assert_operator lane["compared"], :positive?
      assert_equal %w[at entry what], lane["timeline"].first.keys.sort
    end

    test "--lane selects a partition or a topic; a name that isn't there is refused with those that are" do
      %w[orders orders/3].each { |name| assert_equal 0, penstock("replay", dump, "--lane", name).code }
      refused = penstock("replay", dump, "--lane", "orders/4")
      assert_equal 1, refused.code
      assert_includes refused.err, "the dump has no lane orders/4; it has orders/3"
    end

    test "older entries that are gone are counted, and a recording without a beginning proves nothing" do
      empty = ->(lanes) { lanes.first.merge!("entries" => [], "overwritten" => 12) }
      found = penstock("replay", dump(&empty))
      assert_match(%r{^orders/3 \(12 older entries are gone\)$}, found.out)
      assert_match(/nothing was compared: the recording has no entry to start from/, found.out)
    end
  end
end
