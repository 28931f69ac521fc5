# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Raises for commands and constants of Karafka's Admin that this version doesn't have, with what to do instead;
      # `respond_to?` is false for them. Included in {Penstock::Admin} and its class.
      module Admin
        GROUP = "use kafka-consumer-groups.sh while the group has no members"
        ACL = "use kafka-acls.sh"
        MOVE = "use kafka-reassign-partitions.sh"
        COMMANDS = {
          seek_consumer_group: "#{GROUP} (--reset-offsets); a running consumer can call seek",
          copy_consumer_group: GROUP, rename_consumer_group: GROUP,
          delete_consumer_group: "#{GROUP} (--delete)",
          trigger_rebalance: "restart one of its processes",
          plan_topic_replication: MOVE,
          with_admin: "use Penstock::Admin.open(…) { |admin| … }", with_consumer: "use Penstock::Iterator"
        }.freeze
        CONSTANTS = {
          Acl: ACL,
          Configs: "use kafka-configs.sh; for a new topic, `create_topic config:`",
          ConsumerGroups: "call Penstock::Admin itself: groups, group_info, group_lag, " \
            "read_committed_offsets; for the rest #{GROUP}",
          IsolationLevels: "use isolation_level: :read_committed or :read_uncommitted",
          Replication: MOVE
        }.freeze
        private_constant :GROUP, :ACL, :MOVE

        # @param admin [Class]
        # @param name [Symbol]
        # @return [NameError, nil] the error for a missing constant; nil if Karafka doesn't have it either
        def self.constant(admin, name)
          way_out = CONSTANTS[name] or return
          NameError.new("there is no Penstock::Admin::#{name} in this version: #{way_out}", name, receiver: admin)
        end

        private

        def method_missing(name, *)
          way_out = COMMANDS[name] or return super
          raise NoMethodError, "Penstock::Admin has no #{name} in this version: #{way_out}", caller
        end

        def respond_to_missing?(name, all = false) = super
      end
    end
  end
end
