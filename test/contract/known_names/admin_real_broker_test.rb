# frozen_string_literal: true

require "test_helper"
require_relative "admin_contract"

module Penstock
  class KnownAdminOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include KnownAdminContract

    KnownAdminContract.add_to(self)
  end
end
