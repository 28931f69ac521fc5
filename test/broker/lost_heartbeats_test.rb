# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/consuming"
require "support/damaging_proxy"
require "support/native_member"
require "support/real_broker"

module Penstock
  # A member of a KIP-848 group doesn't get the answer that moves it to the group's next epoch.
  class LostHeartbeatsTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    HEARTBEAT = 68
    PARTITIONS = 6

    def setup
      super
      @epoch = 0
      @answers = 0
      @proxy = TestSupport::DamagingProxy.new(bootstrap_servers, api: HEARTBEAT) { |frame| answer(frame) }
    end

    def teardown
      super
      @admin&.close
      @proxy&.close
    end

    def kafka = {"bootstrap.servers": bootstrap_servers, "group.protocol": "consumer"}

    # The answer's header, the throttle time, no error and no message about it are 12 bytes; then come the member's id and its
    # epoch. `@damage` changes the first answer that has a later epoch; `@every` changes each.
    def answer(frame)
      return @every.call(frame) if @every
      length = frame.getbyte(12)
      epoch = frame[13 + length - 1, 4].unpack1("N")
      later = epoch > @epoch
      @epoch = epoch
      return frame unless later && @damage
      @answers += 1
      @damage.tap { @damage = nil }.call(frame)
    end

    def member(topic, seen, kafka = {}, &config)
      consuming(topic, kafka: {"auto.commit.interval.ms": 100, **kafka}, config: config || ->(_config) {}) do
        messages.each { |one| seen << [one.partition, one.offset] }
      end
    end

    def fill(topic) = PARTITIONS.times { |partition| produce(topic, %w[a b c], partition: partition) }

    def count_revoked(application)
      revoked = queue
      application.monitor.subscribe("rebalance.partitions_revoked") { |event| revoked << event[:tpl] }
      revoked
    end

    def owned(running) = running.application.snapshot.sum { |group| group.fetch(:lanes, []).size }

    {"is lost" => ->(_frame) {}, "can't be read" => ->(frame) { frame[0..-4] }}.each do |fate, damage|
      test "when the answer with the next epoch #{fate}, the member keeps its partitions and gets the new ones" do
        topic, seen = topic_with(0, partitions: PARTITIONS), queue
        stays = member(topic, seen, {"bootstrap.servers": @proxy.bootstrap_servers})
        leaves = member(topic, seen)
        wait_until(30, "half of the partitions each") { [stays, leaves].all? { |one| owned(one) == PARTITIONS / 2 } }
        fill(topic)
        wait_until(30, "all records") { seen.size == PARTITIONS * 3 }
        revoked = count_revoked(stays.application)
        @damage = damage
        leaves.stop
        wait_until(30, "all partitions", state: -> { stays.application.snapshot }) { owned(stays) == PARTITIONS }
        fill(topic)
        wait_until(30, "the records of all partitions") { seen.size >= PARTITIONS * 6 }

        assert_equal [1, []], [@answers, all(revoked)]
        assert_equal 0, stays.stop
        expected = Array.new(PARTITIONS) { |partition| Array.new(6) { |offset| [partition, offset] } }.flatten(1)
        assert_equal expected, all(seen).sort
      end
    end

    # It hasn't answered its own assignment yet when the coordinator asks for half of the partitions.
    test "while a member is being given its partitions, an answer is lost: no other member gets one of them" do
      topic, answers = topic_with(0, partitions: PARTITIONS), queue
      first = native_member(@proxy, topic, answers: false)
      first.await_event(:assign)
      second = native_member(Broker.new(bootstrap_servers), topic)
      together(first, second) { members == 2 }
      @every = ->(frame) { (answers << frame).then { (answers.size == 1) ? nil : frame } }
      together(first, second) { answers.size == 4 }
      assert_empty second.lanes
      first.answers = true
      first.answer
      together(first, second) { [first, second].all? { |one| one.lanes.size == PARTITIONS / 2 } }
    ensure
      [first, second].compact.each(&:close)
    end

    Broker = Struct.new(:bootstrap_servers)
    CLASSIC = %w[partition.assignment.strategy session.timeout.ms heartbeat.interval.ms].freeze

    def native_member(broker, topic, **options)
      TestSupport::NativeMember.new(broker, topic, without: CLASSIC, group_id: group, group_protocol: "consumer", **options)
    end

    def members = (@admin ||= Admin.new(kafka: {"bootstrap.servers": bootstrap_servers})).group_info(group)[:members].size

    # No partition ever has two owners.
    def together(first, second)
      first.turn_until(30) do
        second.turn(0)
        assert_empty first.lanes.keys & second.lanes.keys if first.answers
        yield
      end
    end
  end
end
