# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/transaction_scope"

module Penstock
  class TransactionScopeTest < TestCase
    def active? = TransactionScope.active?

    test "a fiber that has the lock of any producer is in a transaction, until it has given back the last one" do
      one, other = Array.new(2) { Producer::TransactionLock.new }
      one.hold do
        other.hold { assert active? }
        assert active?
        refute Fiber.new { active? }.resume
        refute Thread.new { active? }.value
      end

      refute active?
      assert_raises(IOError) { one.hold { raise IOError } }
      refute active?
    end
  end
end
