# frozen_string_literal: true

module Penstock
  class Admin
    # Raises for what Kafka's own administration client can do and librdkafka can't, with the name of Kafka's script that does
    # it; `respond_to?` is false for it. Included in {Admin} and its class.
    module NotOffered
      REASSIGN = "kafka-reassign-partitions.sh"
      QUOTAS = "kafka-configs.sh --entity-type users or clients"
      TRANSACTIONS = "kafka-transactions.sh"
      LOG_DIRS = "kafka-log-dirs.sh"
      TOKENS = "kafka-delegation-tokens.sh"
      FEATURES = "kafka-features.sh"
      SHARE_GROUPS = "kafka-share-groups.sh"
      MEMBERS = "kafka-consumer-groups.sh --delete, when its processes are stopped"
      # By the names of Kafka's client, as Ruby writes them.
      SCRIPTS = {
        alter_partition_reassignments: "#{REASSIGN}; Penstock::Admin::Replication.plan writes the file it takes",
        list_partition_reassignments: "#{REASSIGN} --list",
        describe_client_quotas: "#{QUOTAS} --describe", alter_client_quotas: "#{QUOTAS} --alter",
        list_transactions: "#{TRANSACTIONS} list", describe_transactions: "#{TRANSACTIONS} describe",
        describe_producers: "#{TRANSACTIONS} describe-producers", abort_transaction: "#{TRANSACTIONS} abort",
        fence_producers: "#{TRANSACTIONS} forceTerminateTransaction",
        describe_log_dirs: "#{LOG_DIRS} --describe", describe_replica_log_dirs: "#{LOG_DIRS} --describe",
        alter_replica_log_dirs: REASSIGN,
        create_delegation_token: "#{TOKENS} --create", renew_delegation_token: "#{TOKENS} --renew",
        expire_delegation_token: "#{TOKENS} --expire", describe_delegation_token: "#{TOKENS} --describe",
        describe_features: "#{FEATURES} describe", update_features: "#{FEATURES} upgrade or downgrade",
        remove_members_from_consumer_group: MEMBERS,
        describe_share_groups: "#{SHARE_GROUPS} --describe", list_share_group_offsets: "#{SHARE_GROUPS} --describe",
        alter_share_group_offsets: "#{SHARE_GROUPS} --reset-offsets", delete_share_groups: "#{SHARE_GROUPS} --delete",
        delete_share_group_offsets: "#{SHARE_GROUPS} --delete-offsets",
        describe_metadata_quorum: "kafka-metadata-quorum.sh", unregister_broker: "kafka-cluster.sh unregister",
        list_client_metrics_resources: "kafka-client-metrics.sh"
      }.freeze
      private_constant :REASSIGN, :QUOTAS, :TRANSACTIONS, :LOG_DIRS, :TOKENS, :FEATURES, :SHARE_GROUPS, :MEMBERS

      private

      def method_missing(name, *)
        script = SCRIPTS[name] or return super
        raise NoMethodError, "Penstock::Admin has no #{name}: librdkafka doesn't offer it. Use #{script}", caller
      end

      def respond_to_missing?(name, all = false) = super
    end
  end
end
