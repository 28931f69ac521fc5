# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/claim"
require "penstock/runtime/loop/mailbox"

module Penstock
  class ClaimTest < TestCase
    def claim
      Consumer::Claim.new(lane: nil, incarnation: 0, unit: nil, marks: [], metadata: nil, producer: nil, transaction: nil)
    end

    test "a claim is decided once, and the waiting thread gets the answer" do
      one = claim
      waiter = Thread.new { one.wait(20) }
      one.grant([1], :group)
      one.refuse
      assert_equal [1], waiter.value.row
      assert_equal :group, one.wait(0).group
    end

    test "waiting for a decision returns nil after the timeout" do
      assert_nil claim.wait(0.001)
    end

    test "a claim is refused when the mailbox is no longer read" do
      mailbox = Runtime::Mailbox.new
      mailbox.post(before = claim)
      mailbox.close
      mailbox.post(after = claim)
      assert_equal %i[refused refused], [before.wait(0), after.wait(0)]
    end
  end
end
