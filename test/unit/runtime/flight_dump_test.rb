# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require "support/virtual_clock"
require "penstock/runtime/flight_dump"

module Penstock
  class FlightDumpTest < TestCase
    def setup
      @folder = Dir.mktmpdir("penstock-flight")
      @clock = VirtualClock.new
      @dump = Runtime::FlightDump.new(@folder, @clock)
    end

    def teardown = FileUtils.rm_rf(@folder)

    test "a dump is a file that only its owner can read, and records the times at which it was written" do
      path = @dump.write("TTIN", [{topic: "orders"}])
      assert_equal 0o600, File.stat(path).mode & 0o777
      contents = JSON.parse(File.read(path))
      assert_equal [1, "TTIN", 1_000, [{"topic" => "orders"}]],
        contents.values_at("penstock_flight", "reason", "monotonic_ms", "lanes")
    end

    test "without partitions there is nothing to write" do
      assert_nil @dump.write("TTIN", [])
      assert_empty Dir.children(@folder)
    end

    test "only the newest ten are kept, and files of other users are ignored" do
      File.write(File.join(@folder, "notes.json"), "mine")
      paths = Array.new(13) do
        @clock.advance(1_000)
        @dump.write("loop error", [{}])
      end
      assert_equal paths.last(10).map { |path| File.basename(path) }.sort, Dir.glob("penstock-flight-*", base: @folder).sort
      assert_path_exists File.join(@folder, "notes.json")
    end

    test "a link in the place of a dump is not followed" do
      target = File.join(@folder, "target")
      first = @dump.write("TTIN", [{}])
      File.delete(first)
      File.symlink(target, first)
      refute_equal first, @dump.write("TTIN", [{}])
      refute_path_exists target
    end
  end
end
