# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/native/consumer"
require "penstock/testing/memory/kafka/driver"
require "penstock/testing/memory/kafka/timeline"
require_relative "client_contract"

module Penstock
  # The client of the in-memory Kafka behaves like the native one.
  class MemoryClientTest < TestCase
    include TestSupport::ClientContract
    include TestSupport::ClientLimits

    def setup
      super
      random = Random.new(1)
      @cluster = Testing::Memory::Kafka::Cluster.new(Testing::Memory::Kafka::Timeline.new(random), random)
    end

    def topic(partitions = 1) = "topic".tap { |name| @cluster.create_topic(name, partitions) }
    def produce(topic, payloads) = payloads.each { |payload| @cluster.produce(topic, 0, payload) }

    def client(topic)
      @cluster.groups["group"] || @cluster.create_group("group", :cooperative)
      Testing::Memory::Kafka::Driver.new(@cluster, "group", name: "member").tap { |member| member.subscribe([topic]) }
    end

    # A process that reacts to nothing, so that a rebalance waits for it.
    class Deaf
      def run_when_awake = nil
    end

    test "a commit after a join that the group refuses is answered, and its member joins again" do
      name = topic(2)
      member = client(name)
      group = @cluster.groups["group"]
      rounds = TestSupport::ClientContract::Rounds.new(member).until("assignment") { |each| each.keys(:assign).any? }
      waits_for_another(name, group, rounds)
      member.commit(7, [[name, 0, 0, "", -1]])
      group.silent(member)
      rounds.until("answer") { |each| each.event(:commit) }
      assert_equal [7, Testing::Memory::Kafka::Cluster.number(:unknown_member_id)], rounds.event(:commit)[1, 2]
      rounds.until("join") { member.joining? }
    end

    test "every method that a poll loop calls on its client exists in the native client" do
      called = Dir["lib/penstock/runtime/*.rb"].flat_map { |path| File.read(path).scan(/\bdriver\.(\w+[?!]?)/).flatten }.uniq
      native = Native::Consumer.public_instance_methods
      fake = Testing::Memory::Kafka::Driver.public_instance_methods
      assert_empty called.map(&:to_sym).select { |name| native.include?(name) && !fake.include?(name) }
    end

    private

    # It is assigned a partition that the member returns for it, and doesn't join again.
    def waits_for_another(name, group, rounds)
      Testing::Memory::Kafka::Driver.new(@cluster, "group", name: "deaf", host: Deaf.new).subscribe([name])
      rounds.until("join") { group.generation == 2 && rounds.client.joining? }
    end
  end
end
