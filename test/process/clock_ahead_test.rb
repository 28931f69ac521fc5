# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "support/consuming"

module Penstock
  # A wall clock that is ahead for a moment, in an application that has had no record before.
  class ClockAheadTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    def self.topics = {"orders" => 1}

    # Each test has a process of its own, so that this clock ends with it.
    module Ahead
      class << self
        attr_accessor :by_ms
      end
      self.by_ms = 0

      def wall_ms = super + Ahead.by_ms
    end

    test "the first record of a partition isn't dropped as expired" do
      Clock.prepend(Ahead)
      seen = queue
      running = consuming("orders", ->(route) { route.expire_in 600_000 }) do
        messages.each { |message| seen << message.raw_payload }
      end
      wait_until(30, "the partition") { running.application.snapshot.flat_map { |one| one[:lanes] }.any? }

      Ahead.by_ms = 3_600_000
      produce("orders", %w[fresh])
      assert_equal %w[fresh], take(seen, 1)
      running.stop
    end
  end
end
