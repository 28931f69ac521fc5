# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/runtime/loop/driver_events"
require "penstock/runtime/loop/monitoring/no_partitions_warning"

class NoPartitionsWarningTest < Penstock::TestCase
  Topic = Struct.new(:name)
  Group = Struct.new(:consumer_group_id, :active_topics, :direct, :connection) do
    def direct? = direct
    def subscribes_to?(name) = active_topics.map(&:name).include?(name)
  end
  Events = Struct.new(:reported_at, :tokenless, :failed_connection, :refusal) do
    def tokenless? = tokenless
  end
  Missing = Struct.new(:names, :reported_at)
  Driver = Struct.new(:member_id, :name)
  Session = Struct.new(:now, :epoch, :assigned, :group, :missing, :driver, :told, keyword_init: true) do
    def emit(_name, payload) = told << [payload[:waited_ms], payload[:reason]]
    def subscribed?(name) = name == "group.no_partitions"
    def assigned? = assigned
  end
  # Answers at once.
  Query = Struct.new(:description, :error) do
    def ask = yield(description, error)
  end

  def setup
    @events = Events.new(nil, false)
    @query = Query.new(nil, RuntimeError.new("not supported"))
    group = Group.new("app", [Topic.new("orders")], false)
    @session = Session.new(now: 0, epoch: 0, group: group, missing: Missing.new([], nil), driver: Driver.new(""), told: [])
    @waiting = Penstock::Runtime::NoPartitionsWarning.new(@session, @events, @query, {session_ms: 45_000, rebalance_ms: 300_000})
  end

  test "a group without a partition is reported, and again each time the wait has doubled" do
    run_until(100_000)

    assert_equal [12_000, 24_000, 48_000, 96_000], @session.told.map(&:first)
    assert_includes @session.told.first.last, "is the broker reachable?"
  end

  test "nothing is reported from the first partition on" do
    @session.assigned = true
    run_until(50_000)

    assert_empty @session.told
    assert_nil @waiting.next_due
  end

  test "a member to which the group has assigned nothing is reported once" do
    @session.epoch = 1
    @session.driver.member_id = "me"
    @query.description = stable(me: [], a: [0], b: [1])
    run_until(200_000)

    assert_equal [[12_000, "other members hold all partitions: 3 members for 2 partitions. This one gets none until another " \
      "leaves: add partitions, or start fewer processes"]], @session.told
  end

  test "one of several connections to which the group has assigned nothing is not reported: the others may hold all" do
    @session.epoch = 1
    @session.group.connection = 0
    run_until(50_000)

    assert_empty @session.told
  end

  test "a reported error is enough, for as long as it is repeated" do
    (0..120_000).step(1_000) do |now|
      @events.reported_at = now if (now % 30_000).zero?
      run_at(now)
    end

    assert_empty @session.told
    run_until(200_000)
    assert_equal 155_000, @session.told.first[0]
  end

  test "the reason is the known one: missing topics, no token, a failed connection" do
    @session.missing.names = %w[orders clicks]
    assert_equal "orders, clicks don't exist, or this user may not see them. They are consumed a few seconds after they exist: " \
                 "`penstock topics create` creates a topic", reason

    @session.missing.names = []
    @events.tokenless = true
    assert_equal "the client has no OAuth token: set config.oauth.token_provider_listener", reason

    @events.tokenless = false
    @events.failed_connection = :"no connection"
    assert_equal "no connection", reason
  end

  test "a refused right comes before every other reason, with what to grant" do
    @session.missing.names = %w[orders]
    @events.refusal = Penstock::KafkaError.new("JoinGroup failed", code: :group_authorization_failed)
    assert_equal "the cluster refused it: JoinGroup failed (group_authorization_failed). Grant this user READ on the consumer " \
                 "group, to look at it DESCRIBE, to delete it DELETE", reason

    @session.missing.names = []
    @session.driver.member_id = "me" # under KIP-848 from the start
    @query.description = stable(a: [0])
    assert_includes reason, "Grant this user READ on the consumer group"
  end

  test "a right that has been granted since is no reason: the group knows this member" do
    @events.refusal = Penstock::KafkaError.new("JoinGroup failed", code: :group_authorization_failed)
    @session.driver.member_id = "me"
    @query.description = stable(me: [], a: [0])
    assert_includes reason, "other members hold all partitions"
  end

  test "a token listener that has set no token is the reason, not that there is none" do
    @waiting = Penstock::Runtime::NoPartitionsWarning.new(@session, @events, @query, {}, token_listener: true)
    @events.tokenless = true

    assert_match(/listener in config.oauth.token_provider_listener has set none.* must call .*oauthbearer_set_token/, reason)
  end

  test "the last failed connection is the one that the client has logged" do
    parts = Struct.new(:connection).new(@session)
    events = Penstock::Runtime::DriverEvents.new(parts)
    assert_nil events.failed_connection
    @session.define_singleton_method(:log) { |*| nil }
    events.call([:log, 3, "FAIL", "[thrd:k:9092/bootstrap]: k:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: " \
      "Connection refused (after 0ms in state CONNECT)"])

    assert_match(/\Ano connection to k:9092, TCP failed: 10.0.0.1:9092: Connection refused. Nothing listens there/,
      events.failed_connection.to_s)
  end

  test "a rebalance is named, with how long it can last" do
    @session.driver.member_id = "me"
    @query.description = {state: "PreparingRebalance", members: [member(:me, []), member(:a, [0])]}
    assert_equal "the group is rebalancing (PreparingRebalance, 2 members) and waits for members that have not rejoined: for " \
                 "one that vanished at most its session.timeout.ms (here 45 s), for one that is still busy at most its " \
                 "max.poll.interval.ms (here 300 s)", reason
  end

  test "under KIP-848 the broker's session timeout is the limit" do
    @waiting = Penstock::Runtime::NoPartitionsWarning.new(@session, @events, @query, {session_ms: nil, rebalance_ms: 300_000})
    @session.driver.member_id = "me"
    @query.description = {state: "Reconciling", members: []}
    assert_includes reason, "(group.consumer.session.timeout.ms)"
  end

  test "a stable group whose topics have no partition, and one that doesn't know this member" do
    @session.driver.member_id = "me"
    @query.description = stable(me: [])
    assert_includes reason, "no member has a partition of orders"

    @query.description = {state: "Empty", members: []}
    assert_includes reason, "this one was removed, and joins again"

    @query.description = stable(me: [0])
    assert_includes reason, "they arrive with its next heartbeat"
  end

  test "partitions of other topics don't count" do
    @session.driver.member_id = "me"
    @query.description = {state: "Stable", members: [member(:me, []), member(:a, [0, 1], "clicks"), member(:b, [0])]}
    assert_includes reason, "3 members for 1 partition."
  end

  test "where the members can't be listed, the reason names the error, and how long a killed process keeps its partitions" do
    @session.driver.member_id = "me"
    assert_equal "other members hold all partitions, or the group is still rebalancing: its members can't be listed " \
                 "(RuntimeError: not supported). A process that was killed keeps its partitions until its session.timeout.ms " \
                 "(here 45 s) has passed", reason
  end

  test "partitions that the route names are waited for without a group" do
    @session.group.direct = true
    assert_includes reason, "the route names by assign"
  end

  private

  def stable(**members) = {state: "Stable", members: members.map { |id, partitions| member(id, partitions) }}

  def member(id, partitions, topic = "orders")
    {id: id.to_s, partitions: partitions&.map { |number| [topic, number] }}
  end

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
