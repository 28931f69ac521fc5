# frozen_string_literal: true

require "test_helper"
require "tempfile"
require_relative "../../support/runner/valgrind_report"

class ValgrindReportTest < Penstock::TestCase
  def findings(kind, *objects, ending: "</valgrindoutput>")
    frames = objects.map { |object| "<frame><obj>#{object}</obj><fn>f</fn></frame>" }.join
    error = "<error><kind>#{kind}</kind><what>what</what><stack>#{frames}</stack></error>"
    Tempfile.create("report") do |file|
      file.write("<valgrindoutput>#{error}#{ending}")
      file.flush
      Penstock::TestSupport::Runner::ValgrindReport.new(file.path).findings
    end
  end

  test "an error in our own code is a finding" do
    assert_equal 1, findings("InvalidRead", "/x/penstock_kafka.so", "/usr/lib/libruby-3.1.so").size
  end

  test "an error in the C library called by our code is a finding" do
    assert_equal 1, findings("InvalidRead", "/usr/lib/valgrind/vgpreload_memcheck.so", "/x/penstock_core.so").size
  end

  test "an error in Ruby called by our code belongs to Ruby" do
    assert_empty findings("UninitCondition", "/usr/lib/libruby-3.1.so", "/x/penstock_kafka.so")
  end

  test "memory that our code allocated and lost is a finding, memory that Ruby allocated on the way belongs to the collector" do
    tool = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"

    assert_equal 1, findings("Leak_DefinitelyLost", tool, "/x/penstock_kafka.so", "/usr/lib/libruby.so").size
    assert_empty findings("Leak_DefinitelyLost", tool, "/usr/lib/libruby.so", "/x/penstock_kafka.so")
  end

  test "the report of a killed process is read as far as it goes" do
    assert_equal 1, findings("InvalidRead", "/x/penstock_kafka.so", ending: "").size
  end
end
