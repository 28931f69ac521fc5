# frozen_string_literal: true

module Penstock
  module Testing
    # Settings of clients of the embedded broker, and the same times for members of KIP-848 groups, which get them from the
    # broker. `docs/embedded_broker.md` explains each. Loaded on its own by the broker's process and by commands.
    module ClientSettings
      # An empty fetch always waits this long, in ms.
      FETCH_WAIT_MAX_MS = 10
      # The broker waits this long, in ms, for a member that is dead or silent, and then assigns its partitions to others.
      SESSION_TIMEOUT_MS = 2_000
      # A member learns of a rebalance with its next heartbeat.
      HEARTBEAT_INTERVAL_MS = 300

      # @return [Hash{Symbol => Integer}] librdkafka's properties, for classic groups
      ALL = {"fetch.wait.max.ms": FETCH_WAIT_MAX_MS, "session.timeout.ms": SESSION_TIMEOUT_MS,
             "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS}.freeze
    end
  end
end
