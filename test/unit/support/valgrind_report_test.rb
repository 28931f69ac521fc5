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

  test "an error in the C library on our behalf is a finding" do
    assert_equal 1, findings("InvalidRead", "/usr/lib/valgrind/vgpreload_memcheck.so", "/x/penstock_core.so").size
  end

  test "an error of Ruby that we called is Ruby's" do
    assert_empty findings("UninitCondition", "/usr/lib/libruby-3.1.so", "/x/penstock_kafka.so")
  end

  test "memory that our code asked for and lost is a finding, what Ruby asked for on its way is the collector's" do
    tool = "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"

    assert_equal 1, findings("Leak_DefinitelyLost", tool, "/x/penstock_kafka.so", "/usr/lib/libruby.so").size
    assert_empty findings("Leak_DefinitelyLost", tool, "/usr/lib/libruby.so", "/x/penstock_kafka.so")
  end

  test "the report of a process that was killed is read as far as it goes" do
    assert_equal 1, findings("InvalidRead", "/x/penstock_kafka.so", ending: "").size
  end
end
