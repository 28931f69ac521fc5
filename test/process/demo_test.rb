# frozen_string_literal: true

require "test_helper"
require "json"
require_relative "../support/command_line"

class DemoProcessTest < Penstock::TestCase
  include Penstock::TestSupport::CommandLine

  MAIN = File.join(ROOT, "examples/demo/main.rb")
  SMALL = %w[--count 4000 --rate 2000 --partitions 4 --limit 90 --json].freeze

  test "a small run with a process killed in the middle ends with a table that is right" do
    result = demo

    table = table_of(result)
    assert_equal [], table["problems"], result.err
    assert_equal 0, result.code
    assert_equal [4_000, 4_000, 0, 0], table.values_at("produced", "processed", "lost", "out_of_order")
    assert_equal ["consumer-1"], table["killed"]
    assert_empty leftovers
  end

  test "a line dropped from a journal makes the table wrong and the exit code 1" do
    result = demo("--tamper", "--no-kill", "--count", "500")

    assert_equal 1, result.code, result.err
    table = table_of(result)
    assert_equal [1, 1], table.values_at("lost", "journal_missing")
    assert_empty leftovers
  end

  test "servers that commit ahead of what they processed lose orders at the kill, and the table shows it" do
    mutant = File.join(ROOT, "test/support/mutants/commit_ahead.rb")
    # All orders are there from the start, and processing takes eight seconds: the kill comes after commits, and these are
    # never beyond the end of a partition, where they would only mean that everything is read again.
    result = demo("--count", "8000", "--rate", "0", "--work", "8", env: {"RUBYOPT" => "-r#{mutant}"})

    assert_equal 1, result.code, result.err
    table = table_of(result)
    assert_operator table["lost"], :>, 0
    assert_equal 0, table["journal_missing"]
  end

  test "Ctrl-C ends it cleanly: exit code 130, no child and no file is left" do
    pid = spawn(CLEAN.merge("TMPDIR" => @dir), RbConfig.ruby, MAIN, *SMALL, out: File::NULL, err: File.join(@dir, "err"))
    children = wait_until(30, "three children of the demo") { children_of(pid).then { |all| all if all.size >= 3 } }
    ::Process.kill(:INT, pid)
    _, status = ::Process.wait2(pid)

    assert_equal 130, status.exitstatus
    assert(wait_until(5, "the end of all children") { children.none? { |child| File.exist?("/proc/#{child}") } })
    assert_empty leftovers
  end

  test "more orders than the embedded broker can keep are refused before anything starts" do
    result = demo("--count", "10_000_000")

    assert_equal 1, result.code
    assert_includes result.err, "--bootstrap"
  end

  private

  def demo(*options, env: {})
    out, err, status = Open3.capture3(CLEAN.merge("TMPDIR" => @dir, **env), RbConfig.ruby, MAIN, *SMALL, *options)
    Result.new(out, err, status.exitstatus)
  end

  def table_of(result)
    JSON.parse(result.out)
  rescue JSON::ParserError
    flunk "no table; the demo said: #{result.err}"
  end

  def children_of(pid)
    Dir["/proc/#{pid}/task/*/children"].flat_map { |path| File.read(path).split }
  rescue Errno::ENOENT
    []
  end

  def leftovers
    Dir[File.join(@dir, "penstock-demo-*")]
  end
end
