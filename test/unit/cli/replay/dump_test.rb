# frozen_string_literal: true

require "test_helper"
require "json"
require "tempfile"
require "penstock/cli/replay/dump"

module Penstock
  # A file of the flight recorder: what is accepted as one, and how its lanes are selected.
  class ReplayDumpTest < TestCase
    FACTS = {"penstock_flight" => 1, "wall_ms" => 1_700_000_000_000, "monotonic_ms" => 5_000}.freeze
    LANES = [{"topic" => "orders", "partition" => 0}, {"topic" => "orders", "partition" => 1},
      {"topic" => "clicks", "partition" => 0}].freeze

    def read(text)
      Tempfile.create("dump") do |file|
        File.binwrite(file.path, text)
        CLI::Replay::Dump.read(file.path)
      end
    end

    def refused(text = nil, &block)
      assert_raises(CLI::Usage, &block || -> { read(text) }).message
    end

    test "a dump has its facts apart from its lanes" do
      dump = read(JSON.generate({**FACTS, "lanes" => LANES}))
      assert_equal [FACTS, LANES], [dump.facts, dump.lanes]
      assert_empty read(JSON.generate(FACTS)).lanes
    end

    test "a file that isn't a dump is refused: missing, no JSON, other JSON, another format" do
      assert_match(%r{/nowhere/x can't be read: No such file}, refused { CLI::Replay::Dump.read("/nowhere/x") })
      assert_match(/can't be read: /, refused("\xFF{".b))
      ["{}", "[]", "7"].each { |text| assert_equal "this is not a dump of the flight recorder", refused(text) }
      assert_equal "the dump has format 2, this Penstock reads 1: use a newer one", refused('{"penstock_flight": 2}')
    end

    test "lanes are selected by topic, or by topic and partition; none means all" do
      dump = CLI::Replay::Dump.new({**FACTS, "lanes" => LANES})
      assert_equal [3, 2, 1], [nil, "orders", "orders/1"].map { |name| dump.select(name).size }
      assert_equal "the dump has no lane order; it has orders/0, orders/1, clicks/0", refused { dump.select("order") }
      assert_equal "the dump has no lane ; it has none", refused { CLI::Replay::Dump.new(FACTS).select(nil) }
    end

    test "an entry's time is that of the clock on the wall when it was recorded, in UTC" do
      dump = CLI::Replay::Dump.new(FACTS)
      assert_equal %w[22:13:20.000 22:13:18.500], [dump.time(5_000), dump.time(3_500)]
    end
  end
end
