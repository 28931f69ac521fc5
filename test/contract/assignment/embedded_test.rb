# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "penstock/admin"
require_relative "assignment_contract"

module Penstock
  class AssignmentOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include AssignmentContract

    AssignmentContract.add_to(self)

    # It can't describe groups.
    def assert_members(_count) = nil
    def assert_once(got) = assert_equal(got.uniq.size, got.size, got.inspect)
  end
end
