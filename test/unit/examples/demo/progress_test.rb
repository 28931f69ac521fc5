# frozen_string_literal: true

require "test_helper"
require "stringio"
require_relative "../../../../examples/demo/bar"
require_relative "../../../../examples/demo/progress"

class ProgressTest < Penstock::TestCase
  test "the last numbers are written at the end: taken, finished, the next offset of each partition" do
    reading, writing = IO.pipe
    progress = Demo::Progress.new(writing)
    progress.assigned([["orders", 0], ["orders", 1]])
    progress.revoked([["orders", 1]])
    progress.taken(3)
    progress.finished(0, 41)
    progress.finished(0, 42)
    progress.close

    assert_equal({"in_flight" => 1, "done" => 2, "next" => {"0" => 43}, "assigned" => 1, "running" => false},
      JSON.parse(reading.readlines.last))
  ensure
    reading.close
  end

  test "the bar shows lag and rate, and prints lines without a terminal" do
    out = StringIO.new
    bar = Demo::Bar.new(out, 200)
    bar.show(produced: 150, processed: 100, in_flight: 7)
    bar.show(produced: 160, processed: 120, in_flight: 7)

    assert_equal 1, out.string.lines.size
    assert_includes out.string, "50 %  produced 150  processed 100  rate 0/s  lag 50  in flight 7"
  end
end
