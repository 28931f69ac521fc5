# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require_relative "rebalance_contract"

module Penstock
  class RebalanceOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include RebalanceContract

    RebalanceContract.add_to(self)

    def assert_once(got) = assert_equal(got.uniq.size, got.size, got.inspect)
    def attempts_kept(last) = [last, last + 1]

    # The group no longer knows the member.
    def lose(_member, _topic) = self.class.cluster.inject_errors(:heartbeat, [:unknown_member_id])
    def loser = {}

    test "a lost partition that is assigned again waits for the unit still running on it, and then the record runs again" do
      topic, begun, release = topic_with(1), queue, queue
      at_once = [0]
      consuming(topic, kafka: RebalanceContract::HASTY) do
        begun << (at_once[0] += 1)
        release.pop
        at_once[0] -= 1
      end
      take(begun, 1)
      lose(nil, nil)
      lanes = -> { @running.first.application.snapshot.flat_map { |one| one[:lanes] } }
      wait_until(40, "the partition again", state: lanes) do
        lanes.call.any? { |lane| lane[:epoch] > 1 && lane[:holds].key?(:previous_epoch) }
      end
      observe_for(0.5)
      assert_empty begun
      2.times { release << true }

      assert_equal [1], take(begun, 1)
    ensure
      5.times { release&.push(true) }
    end
  end
end
