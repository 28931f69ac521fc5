# frozen_string_literal: true

module Penstock
  module Compat
    module Karafka
      # Commands and constants of Karafka's Admin that this version doesn't have. A call raises with what to do instead;
      # `respond_to?` is false for them. Included in {Penstock::Admin} and its class.
      module Admin
        TOPIC = "`penstock tail TOPIC` shows records; a consumer with a group of its own reads them"
        GROUP = "kafka-consumer-groups.sh does it while the group has no members"
        ACL = "kafka-acls.sh does it"
        MOVE = "kafka-reassign-partitions.sh does it"
        COMMANDS = {
          read_topic: TOPIC,
          seek_consumer_group: "#{GROUP} (--reset-offsets); a running consumer says seek",
          copy_consumer_group: GROUP, rename_consumer_group: GROUP,
          delete_consumer_group: "#{GROUP} (--delete)",
          trigger_rebalance: "a restart of one of its processes does it",
          plan_topic_replication: MOVE
        }.freeze
        CONSTANTS = {
          Acl: ACL,
          Configs: "kafka-configs.sh does it; `create_topic config:` says a new topic's",
          ConsumerGroups: "what there is stands on Penstock::Admin itself: groups, group_info, group_lag, " \
            "read_committed_offsets; else #{GROUP}",
          IsolationLevels: "say isolation_level: :read_committed or :read_uncommitted",
          Recovery: GROUP,
          Replication: MOVE
        }.freeze
        private_constant :TOPIC, :GROUP, :ACL, :MOVE

        # @param admin [Class]
        # @param name [Symbol]
        # @return [NameError, nil] the error to raise for a constant that isn't here; nil if Karafka doesn't have it either
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
