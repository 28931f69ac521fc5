# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "penstock/cli/replay/dump"
require "penstock/cli/replay/machine"
require "penstock/cli/replay/words"

module Penstock
  # Dumps of the flight recorder as released versions wrote them: they are attached to bug reports, and newer versions must
  # read them. Files are added, never changed.
  class FlightFormatTest < TestCase
    include TestSupport::CommandLine

    FILE = File.join(__dir__, "flight-v1.json")

    test "format 1 is read: facts, routes, entries as text" do
      dump = CLI::Replay::Dump.read(FILE)
      assert_equal ["TTIN", 4711], dump.facts.values_at("reason", "pid")
      lines = CLI::Replay::Machine.new(dump.select("orders/3").first).script.entries.filter_map { |one| CLI::Replay::Words.call(one) }
      assert_includes lines, "took 7..12 (5 records), cursor 7 to 13"
      assert_includes lines, "unit 7 failed at 8 with Failure, 3000 µs, base 7"
      assert_includes lines, "  Hold retry for 2000 ms"
      assert_equal "22:13:22.006", dump.time(3_006)
    end

    test "decisions of format 1 can be replayed" do
      machines = CLI::Replay::Dump.read(FILE).lanes.map { |lane| CLI::Replay::Machine.new(lane).run }
      assert_equal [nil, nil], machines.map(&:difference)
      assert_equal [14, 17], machines.map(&:compared)
    end

    test "penstock replay shows it, needs no application, and exits with 0" do
      result = penstock("replay", FILE, "--lane", "orders/4")
      assert_equal 0, result.code, result.err
      assert_match(%r{orders/4\n.*17 decisions, all as recorded}m, result.out)
      refute_match(%r{orders/3}, result.out)
    end

    test "penstock replay --json lists the differences, and exits with 1" do
      changed = JSON.parse(File.read(FILE))
      changed["lanes"].first["entries"].find { |entry| entry[0] == "unit" }[4] += 1
      result = penstock("replay", write("changed.json", JSON.generate(changed)), "--json")
      assert_equal 1, result.code, result.err
      found = JSON.parse(result.out)["lanes"].first["difference"]
      assert_equal [[7, 13, 4, 1], [7, 12, 4, 1]], found.values_at("recorded", "replayed")
    end

    test "a file that isn't a dump, or is a newer one, is reported" do
      assert_match(/can't be read/, penstock("replay", "nothing.json").err)
      assert_match(/not a dump of the flight recorder/, penstock("replay", write("a.json", "[]")).err)
      assert_match(/format 9, this Penstock reads 1/, penstock("replay", write("b.json", '{"penstock_flight": 9}')).err)
      assert_match(%r{no lane x; it has orders/3, orders/4}, penstock("replay", FILE, "--lane", "x").err)
    end
  end
end
