# frozen_string_literal: true

require "securerandom"
require_relative "test_case"

module Penstock
  module TestSupport
    # Included by tests that need the real broker; bin/test starts one and passes its address on.
    module RealBroker
      HOW = "no real Kafka: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS"

      def self.available?
        !ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty?
      end

      def bootstrap_servers
        RealBroker.available? ? ENV.fetch("KAFKA_BOOTSTRAP_SERVERS") : skip(HOW)
      end

      # Names of topics and groups that no other test and no earlier run has used.
      def unique(name)
        time = ::Process.clock_gettime(::Process::CLOCK_REALTIME, :millisecond).to_s(36)
        "#{name}-#{::Process.pid}-#{time}-#{SecureRandom.hex(4)}"
      end
    end
  end
end
