# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Events
      # Events of partitions that are assigned and revoked.
      module Rebalance
        TITLE = "Rebalance"
        KEYS = %i[subscription_group subscription_group_id consumer_group consumer_group_id group group_id client_id
          tpl].freeze

        class << self
          def declare(catalogue)
            catalogue.event("rebalance.partitions_assign", "Partitions are about to be assigned.", *KEYS)
            catalogue.event("rebalance.partitions_assigned", "Partitions were assigned; `tpl` is empty if a rebalance added " \
              "none.", *KEYS, optional: %i[kept])
            catalogue.event("rebalance.partitions_revoke", "Partitions are about to be revoked, by the group, or because " \
              "the process stops or loses its connection.", *KEYS,
              optional: %i[lost])
            catalogue.event("rebalance.partitions_revoked", "Partitions were revoked, or lost; at a stop, the group was left.",
              *KEYS,
              optional: %i[lost])
            catalogue.event("rebalance.unit_left_running", "A unit of a revoked partition didn't end in time and still runs: " \
              "the next owner runs its records again.", :topic, :partition, :first_offset, :last_offset, :waited_ms)
            multiplexing(catalogue)
            catalogue.event("rebalance.over_budget", "More partitions are assigned than the memory limit of prefetched " \
              "records was divided for.", :subscription_group_id, :lanes, :budget_bytes)
          end

          private

          def multiplexing(catalogue)
            keys = %i[subscription_group consumer_group_id connections]
            catalogue.event("multiplexing.up", "A subscription group got one more connection.", *keys)
            catalogue.event("multiplexing.down", "A connection had no partitions and is closed.", *keys)
          end
        end
      end
    end
  end
end
