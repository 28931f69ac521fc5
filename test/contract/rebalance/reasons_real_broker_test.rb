# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require "support/consuming"
require "penstock/runtime/loop/monitoring/foreign_topics_check"
require "penstock/runtime/loop/monitoring/no_partitions_warning"

module Penstock
  # Reports of a member about its group. The embedded broker doesn't describe groups.
  class GroupReasonsOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    def kafka = {"bootstrap.servers": bootstrap_servers}

    test "a member without a partition reports how many members share how many partitions" do
      topic, seen, told = topic_with(1), queue, queue
      consuming(topic) { seen << true }
      take(seen, 1)
      second = application_for(topic, told, "group.no_partitions")
      shorten(Runtime::NoPartitionsWarning, :FIRST_MS, 3_000)
      yield_running(second)

      assert_equal "other members hold all partitions: 2 members for 1 partition. This one gets none until another leaves: add " \
                   "partitions, or start fewer processes", take(told, 1, 60).first[:reason]
    end

    test "another application in the same group is named, with its topics" do
      other, own, seen, told = topic_with(1), topic_with(1), queue, queue
      consuming(other) { seen << true }
      take(seen, 1)
      shorten(Runtime::ForeignTopicsCheck, :SETTLED_MS, 2_000)
      yield_running(application_for(own, told, "group.foreign_topics"))
      event = take(told, 1, 60).first

      assert_equal [group, [other]], event.payload.values_at(:consumer_group_id, :topics)
      assert_match(%r{\Acontract on /\S+\z}, event[:members].first)
    end

    private

    def application_for(topic, told, event)
      build(topic, Class.new(BaseConsumer) { def consume = nil }, ->(_) {}, ->(_) {}, {}).tap do |application|
        application.monitor.subscribe(event) { |published| told << published }
      end
    end

    # The test has a process of its own.
    def shorten(type, name, milliseconds)
      type.__send__(:remove_const, name)
      type.const_set(name, milliseconds)
    end
  end
end
