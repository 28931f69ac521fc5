# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require "penstock/admin"
require_relative "assignment_contract"

module Penstock
  class AssignmentOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include AssignmentContract

    AssignmentContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def assert_members(count)
      Admin.open(kafka) do |admin|
        wait_until(20, "#{count} members") { admin.group_info(group)[:members].size == count }
      end
    end

    def assert_once(got) = assert_equal(got.uniq.size, got.size, got.inspect)

    def add_partitions(name, total)
      Admin.open(kafka) { |admin| admin.create_partitions(name, total) }
    end

    test "a partition that assign names is consumed as soon as it exists" do
      topic, seen = numbered_topic(1), queue
      recorder = recorder(seen)
      run_routes { topic(topic) { [consumer(recorder), assign(0, 1)] } }
      assert_equal [[0, "0"]], take(seen, 1)
      add_partitions(topic, 2)
      produce(topic, ["late"], partition: 1)

      assert_equal [[1, "late"]], take(seen, 1)
    end

    test "with assign true partitions that are added later are consumed from their beginning" do
      topic, seen = numbered_topic(1), queue
      recorder = recorder(seen)
      run_routes(kafka: {"topic.metadata.refresh.interval.ms": 300, "auto.commit.interval.ms": 100}) do
        topic(topic) { [consumer(recorder), assign(true)] }
      end
      assert_equal [[0, "0"]], take(seen, 1)
      add_partitions(topic, 2)
      produce(topic, ["early"], partition: 1)

      assert_equal [[1, "early"]], take(seen, 1, 40)
    end

    test "[multiplexing dynamic] connections are closed and opened under KIP-848 too" do
      topic, seen, changes = numbered_topic(1), queue, queue
      recorder = recorder(seen)
      run_routes(listen: {"multiplexing.up" => changes, "multiplexing.down" => changes}, kafka: {"group.protocol": "consumer"}) do
        subscription_group(:many) do
          [multiplexing(min: 1, max: 2, boot: 2, scale_delay: 1_000), topic(topic) { consumer recorder }]
        end
      end
      assert_equal ["0"], take(seen, 1).map(&:last)
      assert_equal [1], take(changes, 1, 60).map { |event| event[:connections] }
      add_partitions(topic, 2)

      assert_equal [2], take(changes, 1, 60).map { |event| event[:connections] }
      await_shares(1, 1)
    end

    test "[direct assign] direct assignment works in an application that uses KIP-848 for other topics" do
      topic, seen = numbered_topic(2), queue
      recorder = recorder(seen)
      draw = -> { run_routes(kafka: {"group.protocol": "consumer"}) { topic(topic) { [consumer(recorder), assign(true)] } } }
      running = draw.call
      assert_equal [[0, "0"], [1, "1"]], take(seen, 2).sort
      assert_equal 0, running.stop
      produce(topic, ["next"])
      draw.call

      assert_equal [[0, "next"]], take(seen, 1)
    end

    # --- static members

    test "a static member that returns within its session gets its partitions again, without a rebalance" do
      topic, seen = topic_with(1, partitions: 2), queue
      run = -> { consuming(topic, config: ->(config) { config.static_membership = "a" }) { seen << messages.first.offset } }
      other = consuming(topic, config: ->(config) { config.static_membership = "b" }) { seen << messages.first.offset }
      first = run.call
      take(seen, 1)
      wait_until(40, "a partition each") { [first, other].map { |one| partitions_of(one).size } == [1, 1] }
      before, kept = [first, other].map { |one| partitions_of(one) }
      revoked = queue
      other.application.monitor.subscribe("rebalance.partitions_revoke") { |event| revoked << event }
      first.stop
      second = run.call

      wait_until(40, "the partition again") { partitions_of(second) == before }
      assert_equal kept, partitions_of(other)
      assert_empty revoked
    end

    test "[static membership ids] a member whose id is taken over by another process reports it and ends with code 1" do
      topic, seen = topic_with(1), queue
      twin = lambda do
        consuming(topic, kafka: {"auto.commit.interval.ms": 100}, config: ->(config) { config.static_membership = "same" }) do
          seen << messages.first.offset
        end
      end
      first = twin.call
      take(seen, 1)
      wait_until(10, "a commit") { committed(topic) == 1 }
      second = twin.call

      assert_equal 1, first.code
      errors = Array.new(first.errors.size) { first.errors.pop }
      assert_includes errors.map { |event| event[:type] }, "app.critical.error"
      assert_equal :fenced_instance_id, errors.find { |event| event[:type] == "app.critical.error" }[:error].code
      produce(topic, ["next"])
      assert_equal [1], take(seen, 1, 40)
      assert second.alive?
    end

    # A name that is waited for no longer, as after a minute.
    class LostName
      def given_up(error, _now) = error.is_a?(KafkaError) && error.code == :unreleased_instance_id
    end

    test "[static membership ids] under KIP-848 a new member with an id in use waits a minute for it, then ends with code 1" do
      topic, seen = topic_with(1), queue
      twin = lambda do
        consuming(topic, kafka: {"group.protocol": "consumer", "auto.commit.interval.ms": 100},
          config: ->(config) { config.static_membership = "same" }) { seen << messages.first.offset }
      end
      first = twin.call
      take(seen, 1)
      wait_until(10, "a commit") { committed(topic) == 1 }
      second = twin.call
      refusals = Array.new(2) { wait_until(20, "a refusal") { second.errors.pop unless second.errors.empty? } }

      assert_equal [["connection.listener.fetch_loop.error", :unreleased_instance_id]] * 2,
        refusals.map { |event| [event[:type], event[:error].code] }
      assert_equal [true, true], [first, second].map(&:alive?)
      Runtime::HeldName.stub(:new, LostName.new) { assert_equal 1, twin.call.code }
      first.stop
      produce(topic, ["next"])
      assert_equal [1], take(seen, 1, 40)
    end

    def partitions_of(running)
      running.application.snapshot.flat_map { |one| one[:lanes].map { |lane| lane[:partition] } }.sort
    end
  end
end
