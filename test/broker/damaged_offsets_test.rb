# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "support/consuming"
require "support/damaging_proxy"
require "support/real_broker"

module Penstock
  # Two requests for the committed offset are made when a partition is assigned, librdkafka's and the poll loop's. One of the
  # answers names another offset than the group has.
  class DamagedOffsetsTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    OFFSET_FETCH = 9
    COMMITTED = 40
    COUNT = 100

    def setup
      super
      @answers = 0
      @proxy = TestSupport::DamagingProxy.new(bootstrap_servers, api: OFFSET_FETCH) { |frame| answer(frame) }
    end

    def teardown
      super
      @proxy&.close
    end

    # Topics are created and filled without the proxy.
    def kafka = {"bootstrap.servers": bootstrap_servers}

    def through_proxy = {"bootstrap.servers": @proxy.bootstrap_servers, "auto.commit.interval.ms": 100}

    # Partition and offset, one after the other in every version of the answer.
    def row(offset) = [0, offset].pack("Nq>")

    def answer(frame)
      return frame unless frame.include?(row(COMMITTED))
      ((@answers += 1) == @wrong) ? frame.sub(row(COMMITTED), row(@offset)) : frame
    end

    [1, 2].product([70, 20, 5_000]).each do |wrong, offset|
      test "answer #{wrong} names #{offset} instead of #{COMMITTED}: every record from there on is consumed, once" do
        @wrong, @offset = wrong, offset
        topic, seen = topic_with(COUNT), queue
        Admin.open(kafka) { |admin| admin.seek_consumer_group(group, {topic => {0 => COMMITTED}}) }
        running = consuming(topic, kafka: through_proxy) { messages.each { |one| seen << one.offset } }
        wait_until(30, "the last record", state: -> { [all(seen), running.application.snapshot] }) { committed(topic) == COUNT }

        assert_equal (COMMITTED...COUNT).to_a, all(seen)
        assert_operator @answers, :>, wrong
        assert_equal 0, running.stop
        assert_equal COUNT, committed(topic)
      end
    end

    test "without damage two requests are enough" do
      topic, seen = topic_with(COUNT), queue
      Admin.open(kafka) { |admin| admin.seek_consumer_group(group, {topic => {0 => COMMITTED}}) }
      consuming(topic, kafka: through_proxy) { messages.each { |one| seen << one.offset } }
      wait_until(30, "the last record") { committed(topic) == COUNT }

      assert_equal [2, (COMMITTED...COUNT).to_a], [@answers, all(seen)]
    end
  end
end
