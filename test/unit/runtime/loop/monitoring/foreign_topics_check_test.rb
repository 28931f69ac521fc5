# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/monitoring/foreign_topics_check"

class ForeignTopicsCheckTest < Penstock::TestCase
  Group = Struct.new(:names, :connection, :direct, :consumer_group) do
    def routes?(name) = names.include?(name)
    def direct? = direct
    def consumer_group_id = "app"
  end
  ConsumerGroup = Struct.new(:all_subscription_groups)
  Session = Struct.new(:now, :epoch, :group, :told, keyword_init: true) do
    def emit(name, payload) = told << [name, *payload.values_at(:consumer_group_id, :topics, :members)]
    def subscribed?(name) = name == "group.foreign_topics"
  end
  Query = Struct.new(:members, :asked) do
    def ask
      self.asked += 1
      yield(members && {state: "Stable", members: members}, nil)
    end
  end

  def setup = prepare

  def prepare(connection: nil, direct: false)
    group = Group.new(%w[orders], connection, direct)
    group.consumer_group = ConsumerGroup.new([group, Group.new(%w[clicks])])
    @query = Query.new([member("shop", "orders"), member("shop", "clicks")], 0)
    @session = Session.new(now: 0, epoch: 0, group: group, told: [])
    @check = Penstock::Runtime::ForeignTopicsCheck.new(@session, @query)
  end

  test "another application in the group is reported once, by its topics and members" do
    @query.members += [member("billing", "invoices", "orders"), member("billing", "invoices")]
    assigned_at(1_000)
    run_until(90_000)
    assigned_at(100_000)
    run_until(4_000_000, step: 10_000)

    assert_equal [["group.foreign_topics", "app", %w[invoices], ["billing on /10.0.0.7"]]], @session.told
    assert_equal 2, @query.asked
  end

  test "topics of any of the group's routes are its own" do
    assigned_at(0)
    run_until(60_000)

    assert_empty @session.told
    assert_equal 1, @query.asked
  end

  test "the group is examined when it has settled, and then at most once an hour" do
    (0..600_000).step(20_000) { |time| assigned_at(time) }
    assert_equal 0, @query.asked
    run_until(640_000)
    assert_equal 1, @query.asked
    assigned_at(650_000)
    assert_equal 4_230_000, @check.next_due
  end

  test "a group that can't be described is not reported" do
    @query.members = nil
    assigned_at(0)
    run_until(60_000)

    assert_empty @session.told
  end

  test "one connection of several asks, and none that reads partitions without a group" do
    [{connection: 1}, {direct: true}].each do |options|
      prepare(**options)
      assigned_at(0)
      run_until(60_000)
      assert_equal 0, @query.asked
      assert_nil @check.next_due
    end
  end

  private

  def member(client, *topics) = {id: client, client_id: client, host: "/10.0.0.7", partitions: topics.map { |topic| [topic, 0] }}

  def assigned_at(time)
    @session.now = time
    @session.epoch += 1
    @check.run
  end

  def run_until(time, step: 1_000)
    (@session.now..time).step(step) do |now|
      @session.now = now
      @check.run if @check.next_due&.<=(now)
    end
  end
end
