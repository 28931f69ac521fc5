# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/native/consumer"
require "support/fake_kafka/driver"
require "support/fake_kafka/timeline"
require_relative "client_contract"

module Penstock
  # The simulator's client keeps to what the native one does.
  class FakeKafkaClientTest < TestCase
    include TestSupport::ClientContract
    include TestSupport::ClientLimits

    def setup
      super
      random = Random.new(1)
      @cluster = TestSupport::FakeKafka::Cluster.new(TestSupport::FakeKafka::Timeline.new(random), random)
    end

    def topic(partitions = 1) = "topic".tap { |name| @cluster.create_topic(name, partitions) }
    def produce(topic, payloads) = payloads.each { |payload| @cluster.produce(topic, 0, payload) }

    def client(topic)
      @cluster.groups["group"] || @cluster.create_group("group", :cooperative)
      TestSupport::FakeKafka::Driver.new(@cluster, "group", name: "member").tap { |member| member.subscribe([topic]) }
    end

    test "every method that a poll loop calls on its client has the native one's name" do
      called = Dir["lib/penstock/runtime/*.rb"].flat_map { |path| File.read(path).scan(/\bdriver\.(\w+[?!]?)/).flatten }.uniq
      native = Native::Consumer.public_instance_methods
      fake = TestSupport::FakeKafka::Driver.public_instance_methods
      assert_empty called.map(&:to_sym).select { |name| native.include?(name) && !fake.include?(name) }
    end
  end
end
