# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/monitor"
require "penstock/instrumentation/reporter"

class ReporterTest < Penstock::TestCase
  def setup
    @monitor = Penstock::Instrumentation::Monitor.new
    @heard = []
    @monitor.subscribe("app.quiet") { |event| @heard << event[:server_id] }
    @reporter = Penstock::Instrumentation::Reporter.new(@monitor, limit: 2)
  end

  test "what waits is published before it ends, in order" do
    @reporter.instrument("app.quiet", server_id: 1)
    @reporter.instrument("app.quiet", server_id: 2)
    @reporter.close
    @reporter.run

    assert_equal [1, 2], @heard
  end

  test "when the queue is full or closed nothing waits, and it is counted" do
    3.times { |index| @reporter.instrument("app.quiet", server_id: index) }
    @reporter.close

    refute @reporter.instrument("app.quiet", server_id: 9)
    assert_equal 2, @reporter.dropped
  end
end
