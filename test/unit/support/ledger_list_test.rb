# frozen_string_literal: true

require "test_helper"
require "stringio"
require_relative "../../support/runner/ledger"

# The tests that bin/ledger names exist; the cases themselves take minutes.
class LedgerListTest < Penstock::TestCase
  Ledger = Penstock::TestSupport::Runner::Ledger
  FaultRuns = Penstock::TestSupport::FaultRuns
  TESTS = FaultRuns.cases.values.flat_map(&:parts).grep(FaultRuns::TestPart).freeze

  def called(*arguments)
    out = StringIO.new
    [Ledger.new(arguments, out: out).call, out.string]
  end

  test "every row of the fault matrix is listed; one that can't be run has a reason" do
    assert_equal (1..40).map { |number| format("T%02d", number) }, FaultRuns.cases.keys.grep(/\AT/)
    FaultRuns.cases.each_value { |one| assert_operator one.parts.size + (one.missing ? 1 : 0), :>=, 1, one.name }
  end

  test "every file exists, and so do the tests that are chosen in it" do
    TESTS.each do |part|
      assert_path_exists part.file
      assert_match(/ test "[^"]*#{part.only}/, File.read(part.file), part.name) if part.only
    end
  end

  test "each test of test/ledger is in a case" do
    Dir["test/ledger/*_test.rb"].each do |file|
      chosen = TESTS.select { |part| part.file == file }.map { |part| Regexp.new(part.only.to_s) }
      names = File.readlines(file).grep(/^ *test "/)

      assert chosen.any?, file
      assert_empty names.reject { |name| chosen.any? { |pattern| pattern.match?(name) } }
    end
  end

  test "parts of a case have different names" do
    FaultRuns.cases.each_value { |one| assert_equal one.parts.map(&:name).uniq, one.parts.map(&:name), one.name }
  end

  test "names are listed and explained, and unknown ones are refused" do
    assert_equal FaultRuns.cases.keys, called("--list").last.scan(/^[ST]\d+/)
    assert_equal [0, 0, 1, 1], [%w[--list], %w[--help], %w[T99], %w[--nonsense]].map { |arguments| called(*arguments).first }
    assert_match(/there is no T99/, called("t99").last)
  end

  test "the table has each case of the matrix, and docs/reliability.md contains it" do
    table = FaultRuns::Table.new(FaultRuns.cases.select { |name, _| name.start_with?("T") }, "/nonexistent").to_s
    names = FaultRuns.cases.keys.grep(/\AT/)
    assert_equal names, table.scan(/^\| (T\d+) /).flatten
    assert_equal described(table), described(File.read("docs/reliability.md")[/<!-- table -->.*<!-- \/table -->/m]),
      "docs/reliability.md is out of date: run bin/ledger table --write"
  end

  # Case, fault, rule and part of each row; figures differ from run to run.
  def described(table) = table.lines.grep(/^\|/).drop(2).map { |line| line.split("|")[1..4].map(&:strip) }
end
