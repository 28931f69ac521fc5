# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/admin"
require "support/native_member"
require "support/real_broker"
require_relative "client_contract"

module Penstock
  # The client that the in-memory Kafka's client models.
  class ClientOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::ClientContract
    include TestSupport::ClientLimits

    # A broker accepts no shorter session timeout.
    PROPERTIES = {**TestSupport::NativeMember::PROPERTIES, "session.timeout.ms" => "6000"}.freeze

    def setup
      super
      @group = unique("group")
    end

    def topic(partitions = 1)
      unique("topic").tap do |name|
        Admin.open({"bootstrap.servers": bootstrap_servers}) { |admin| admin.create_topic(name, partitions: partitions) }
      end
    end

    def produce(topic, payloads)
      producer = Native::Producer.new({"bootstrap.servers" => bootstrap_servers, "linger.ms" => "0"})
      payloads.each { |payload| producer.produce(topic, payload, partition: 0, handle: false) }
      producer.flush(5_000)
    ensure
      producer&.close(1_000)
    end

    def client(topic)
      properties = PROPERTIES.merge("group.id" => @group, "bootstrap.servers" => bootstrap_servers)
      Native::Consumer.new(properties).tap { |member| member.subscribe([topic]) }
    end
  end
end
