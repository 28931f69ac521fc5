# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/monitoring/no_partitions_warning"

class NoPartitionsWarningTest < Penstock::TestCase
  Topic = Struct.new(:name)
  Group = Struct.new(:consumer_group, :active_topics)
  Events = Struct.new(:told_at, :tokenless, :diagnosis) do
    def tokenless? = tokenless
  end
  Missing = Struct.new(:names, :told_at)
  Driver = Struct.new(:member_id)
  Session = Struct.new(:now, :epoch, :group, :missing, :driver, :told, keyword_init: true) do
    def emit(name, payload) = told << [name, payload[:waited_ms], payload[:reason]]
  end

  def setup
    @events = Events.new(nil, false)
    group = Group.new(Struct.new(:id).new("app"), [Topic.new("orders")])
    @session = Session.new(now: 0, epoch: 0, group: group, missing: Missing.new([], nil), driver: Driver.new(""), told: [])
    @waiting = Penstock::Runtime::NoPartitionsWarning.new(@session, @events)
  end

  test "a group without a partition is reported, and again each time the wait has doubled" do
    run_until(100_000)

    assert_equal [12_000, 24_000, 48_000, 96_000], @session.told.map { |_name, waited| waited }
    assert_includes @session.told.first.last, "is the broker reachable?"
  end

  test "nothing is reported from the first assignment on" do
    @session.epoch = 1
    run_until(50_000)

    assert_empty @session.told
    assert_nil @waiting.next_due
  end

  test "a reported error is enough, for as long as it is repeated" do
    (0..120_000).step(1_000) do |now|
      @events.told_at = now if (now % 30_000).zero?
      run_at(now)
    end

    assert_empty @session.told
    run_until(200_000)
    assert_equal 155_000, @session.told.first[1]
  end

  test "the reason is the known one: missing topics, no token, other members" do
    @session.missing.names = %w[orders clicks]
    assert_equal "orders, clicks don't exist", reason

    @session.missing.names = []
    @events.tokenless = true
    assert_includes reason, "config.oauth.token_provider_listener"

    @events.tokenless = false
    @events.diagnosis = :"no connection"
    assert_equal "no connection", reason

    @session.driver.member_id = "member"
    assert_includes reason, "other members hold all partitions"
  end

  private

  def run_until(last) = (@session.now..last).step(1_000) { |now| run_at(now) }

  def run_at(now)
    @session.now = now
    @waiting.run
  end

  def reason
    run_at(@waiting.next_due)
    @session.told.last.last
  end
end
