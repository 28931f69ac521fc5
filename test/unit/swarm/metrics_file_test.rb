# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/swarm/metrics_file"

module Penstock
  module Swarm
    class MetricsFileTest < TestCase
      def setup
        super
        @dir = Dir.mktmpdir
        @file = MetricsFile.open([@dir])
      end

      def teardown
        @file.close
        FileUtils.remove_entry(@dir)
        super
      end

      def report(at, value = at, process: [1, 5]) = MetricsFile::Report.new(process, at, {"calls_total" => [[["ä"], [value]]]})

      test "the newest complete half is read; a node that has written nothing has none, also between others" do
        assert_nil @file.read(0)
        @file.write(2, 0, report(1))
        assert_nil @file.read(1)
        @file.write(2, 1, report(2, 0.5))

        assert_equal report(2, 0.5), @file.read(2)
        @file.write(2, 0, report(3, 1e300))
        assert_equal report(3, 1e300), @file.read(2)
      end

      test "the file has no name, and a folder that can't be written to is passed over" do
        assert_empty Dir.children(@dir)
        file = MetricsFile.open([File.join(@dir, "missing"), @dir])
        file.write(0, 0, report(1))

        assert_equal 1, file.read(0).at
        assert_raises(Errno::ENOENT) { MetricsFile.open([File.join(@dir, "missing")]) }
      ensure
        file&.close
      end

      # The bytes of a report are cut after each of them in turn, as if the process had been killed there.
      test "a half that was written in part isn't read, wherever it was cut: the other half is" do
        bytes = nil
        probe = Object.new
        probe.define_singleton_method(:pwrite) { |written, _offset| bytes = written }
        MetricsFile.new(probe).write(0, 0, report(3, 333))
        io = @file.instance_variable_get(:@file)
        (0...bytes.bytesize).each do |cut|
          @file.write(0, 0, report(1, 111_111_111_111))
          @file.write(0, 1, report(2, 222))
          io.pwrite(bytes.byteslice(0, cut), 0) if cut.positive?

          assert_equal 2, @file.read(0).at, "cut after #{cut} bytes"
        end
        io.pwrite(bytes, 0)
        assert_equal 3, @file.read(0).at
      end

      test "a snapshot that is too large is refused with its size; the one before stays" do
        @file.write(0, 0, report(1))
        large = MetricsFile::Report.new([1, 5], 2, {"calls_total" => [["x" * MetricsFile::HALF_BYTES, [1]]]})

        assert_match(/node 0 have \d+ bytes/, assert_raises(ArgumentError) { @file.write(0, 1, large) }.message)
        assert_equal 1, @file.read(0).at
      end

      test "a child of a fork writes into it, and what it wrote outlives its SIGKILL" do
        child = fork do
          @file.write(1, 0, report(7))
          ::Process.kill(:KILL, ::Process.pid)
        end
        ::Process.wait(child)

        assert_equal 7, @file.read(1).at
      end
    end
  end
end
