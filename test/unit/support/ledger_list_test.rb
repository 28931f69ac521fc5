# frozen_string_literal: true

require "test_helper"
require "stringio"
require_relative "../../support/runner/ledger"

# What bin/ledger names is there; the scenarios themselves take minutes.
class LedgerListTest < Penstock::TestCase
  Ledger = Penstock::TestSupport::Runner::Ledger
  PARTS = Ledger::SCENARIOS.values.flat_map(&:parts).freeze

  def called(*arguments)
    out = StringIO.new
    [Ledger.new(arguments, out: out).call, out.string]
  end

  test "every file is there, and so are the tests that are chosen in it" do
    PARTS.each do |part|
      assert_path_exists part.file
      assert_match(/ test "[^"]*#{part.only}/, File.read(part.file), part.name) if part.only
    end
  end

  test "each test of test/ledger is in some scenario" do
    Dir["test/ledger/*_test.rb"].each do |file|
      chosen = PARTS.select { |part| part.file == file }.map { |part| Regexp.new(part.only.to_s) }
      names = File.readlines(file).grep(/^ *test "/)

      assert chosen.any?, file
      assert_empty names.reject { |name| chosen.any? { |pattern| pattern.match?(name) } }
    end
  end

  test "names are listed, explained, and refused when there are none such" do
    assert_equal Ledger::SCENARIOS.keys, called("--list").last.scan(/^T\d+/)
    assert_equal [0, 0, 1, 1], [%w[--list], %w[--help], %w[T99], %w[--nonsense]].map { |arguments| called(*arguments).first }
    assert_match(/there is no T99/, called("t99").last)
  end
end
