# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "karafka_jobs_contract"

module Penstock
  class KarafkaJobsOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include KarafkaJobsContract

    KarafkaJobsContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}
  end
end
