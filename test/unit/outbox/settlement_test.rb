# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/closed_topics"
require "penstock/outbox/dispatch"
require "penstock/outbox/plan"
require "penstock/outbox/settings"
require "penstock/outbox/settlement"

class OutboxSettlementTest < Penstock::TestCase
  NOW = 1_000_000

  def setup
    @settings = Penstock::Outbox::Settings.new
  end

  test "delivered rows are done; a parked row among them releases the rows held for it" do
    settled = settle(fate([1, 2], done: [1, 2]), fate([3], done: [3], parked: true))

    assert_equal [1, 2, 3], settled.done
    assert_equal [3], settled.released
    assert_predicate settled, :any?
  end

  test "a chain that wasn't started changes nothing" do
    refute_predicate settle(fate([1, 2])), :any?
  end

  test "a refused row is parked, and all rows after it are held" do
    settled = settle(fate([1, 2, 3], done: [1], kind: :record))

    assert_equal({2 => {attempts: 1, due_ms: NOW + 1_000, last_error: "Penstock::KafkaError: no (x)"}}, settled.parked)
    assert_equal({2 => [3]}, settled.held)
  end

  test "a parked row that is refused again holds the rows that have come since" do
    settled = settle(fate([1], kind: :record, parked: true, followers: [5, 6], attempts: 2))

    assert_equal 3, settled.parked[1][:attempts]
    assert_equal NOW + 4_000, settled.parked[1][:due_ms]
    assert_equal({1 => [5, 6]}, settled.held)
    assert_empty settled.released
  end

  test "a row that is set aside releases the rows held for it" do
    @settings.on_refusal = :set_aside
    settled = settle(fate([1], kind: :record, parked: true, followers: [5], attempts: 2))

    assert_equal [1], settled.aside.keys
    assert_equal [1], settled.released
    assert_empty settled.held
    assert_equal ["outbox.set_aside"], settled.reports.map(&:event)
  end

  test "a forbidden topic sets no row aside" do
    @settings.on_refusal = :set_aside
    @settings.max_attempts = 1

    assert_equal [1], settle(fate([1], kind: :topic)).parked.keys
    assert_equal [1], settle(fate([1], kind: :closed)).parked.keys
  end

  test "in a turn without deliveries a late row may mean an outage, and changes nothing" do
    settled = settle(fate([1], kind: :stuck), fate([2, 3], kind: :stuck))

    assert_equal [1, 2], settled.stuck.map { |fate| fate.failed["id"] }
    refute_predicate settled, :resolved?
    refute_predicate settled, :any?
  end

  test "in a turn with deliveries, rows that earlier turns left out are parked too, and later turns hold their followers" do
    left_out = [fate([1, 2], kind: :stuck).alone]
    settled = settle(fate([3, 4], kind: :stuck), fate([5], done: [5]), left_out: left_out)

    assert_equal [{3 => [4]}, [1, 3]], [settled.held, settled.parked.keys]
    assert_equal [[[1, 3], 0]], settled.reports.map { |one| [one.rows, one.attempt] }
    assert_empty settled.stuck
  end

  test "rows are parked if no more can be left out, but not if all were refused" do
    left_out = [fate([1], kind: :stuck).alone]

    assert_equal [1, 2], settle(fate([2], kind: :stuck), left_out: left_out, full: true).parked.keys
    assert_equal [2], settle(fate([2], kind: :record), left_out: left_out).parked.keys
  end

  test "in a turn with deliveries, a stuck row is parked for a while, and the attempt isn't counted" do
    settled = settle(fate([1], kind: :stuck), fate([2], done: [2]))

    assert_equal({attempts: 0, due_ms: NOW + 5_000}, settled.parked[1].slice(:attempts, :due_ms))
    assert_empty settled.stuck
  end

  test "rows of a topic that failed with the same error are reported together" do
    told = settle(fate([1], kind: :record), fate([2], kind: :record), fate([3], kind: :record, topic: "other")).reports

    assert_equal [["t", [1, 2]], ["other", [3]]], told.map { |one| [one.topic, one.rows] }
  end

  test "rows of a strand wait for its parked row that isn't due" do
    assert_equal({9 => [1, 2]}, settle(blocked: {9 => [1, 2]}).held)
  end

  test "the text of an error may have any bytes and any length" do
    settled = settle(fate([1], kind: :record, error: "\xFF\0#{"x" * 10_000}"))
    text = settled.parked[1][:last_error]

    assert_operator text.bytesize, :<=, 500
    assert_predicate text, :valid_encoding?
    refute_includes text, "\0"
  end

  private

  def fate(ids, done: [], kind: nil, parked: false, followers: [], attempts: 0, topic: "t", error: "no")
    chain = Penstock::Outbox::Plan::Chain.new(ids, followers, parked)
    failed = {"id" => ids[done.size], "attempts" => attempts, "topic" => topic} if kind
    Penstock::Outbox::Dispatch::Fate.new(chain, done, failed, (Penstock::KafkaError.new(error, code: :x) if kind), kind)
  end

  def settle(*fates, blocked: {}, **options)
    settings = @settings.dup.finish!
    closed = Penstock::Outbox::ClosedTopics.new(settings, Penstock::Clock::SYSTEM)
    Penstock::Outbox::Settlement.new(fates, blocked, settings: settings, closed: closed, now_ms: NOW, **options)
  end
end
