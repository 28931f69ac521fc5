# frozen_string_literal: true

module Penstock
  class Admin
    # Commands about topics and the cluster, of {Admin} and its class.
    module TopicCommands
      # Creates a topic and returns when all its partitions have leaders.
      #
      # @param name [String]
      # @param partitions [Integer, nil] nil: the broker's default
      # @param replication_factor [Integer, nil] nil: the broker's default
      # @param config [Hash] of the topic (`"retention.ms" => 60_000`)
      # @param positional [Array] the same three as positional arguments
      # @return [void]
      # @raise [KafkaError] `:topic_already_exists`, `:invalid_replication_factor`, `:policy_violation`, …
      # @raise [WaitTimeoutError] the topic was created but isn't visible yet
      def create_topic(name, *positional, partitions: nil, replication_factor: nil, config: {})
        raise ArgumentError, "create_topic takes name, partitions, replication_factor, config" if positional.size > 3

        @topics.create(name, positional[0] || partitions, positional[1] || replication_factor, positional[2] || config)
      end

      # Deletes a topic with all its records and returns when it is gone.
      #
      # @raise [KafkaError] `:unknown_topic_or_part`
      # @raise [WaitTimeoutError] the topic was deleted but is still visible
      def delete_topic(name)
        @topics.delete(name)
      end

      # Adds partitions and returns when they have leaders. From then on, keys may map to other partitions.
      #
      # @param total [Integer] the new number of partitions
      # @raise [KafkaError] `:invalid_partitions` when the topic already has as many or more
      def create_partitions(name, total)
        @topics.create_partitions(name, total)
      end

      # Lists all topics with one request, however many there are.
      #
      # @param internal [Boolean] also topics whose name begins with two underscores
      # @param details [Boolean] also replicas and their state
      # @return [Hash{String=>Integer}] topics and their number of partitions, sorted
      # @return [Hash{String=>Hash}] with details: `partitions` (their number), `replication_factor`, and how many partitions are
      #   `under_replicated` (a replica isn't in sync) and `offline` (without a leader)
      def topics(internal: false, details: false)
        @topics.list(internal: internal, details: details)
      end

      # @return [Hash] `topic_name`, `partition_count`, `replication_factor`, `partitions` (each `partition_id`, `leader`,
      #   `replicas`, `isrs`)
      # @raise [KafkaError] `:unknown_topic_or_part`
      def topic_info(name)
        @topics.info(name)
      end

      # Describes topics with their ids, replicas and the rights of this connection. {#topic_info} needs fewer rights.
      #
      # @param names [Array<String>]
      # @param authorized_operations [Boolean] also what this connection may do with them
      # @return [Array<Hash>] `topic`, `id`, `internal`, `partitions` (each `partition`, `leader` (-1: none), `replicas`, `isrs`),
      #   `authorized_operations` (`:read`, …)
      # @raise [KafkaError] `:unknown_topic_or_part`, `:topic_authorization_failed`; its `failures` are by topic
      def describe_topics(*names, authorized_operations: false)
        @topics.describe(names.flatten, authorized_operations: authorized_operations)
      end

      # Makes the first replica of each partition its leader (`:preferred`), as after a broker has come back; or, with
      # `type: :unclean`, a replica that isn't in sync where no other is left: that loses records.
      #
      # @param topics [Hash{String=>Array<Integer>}, nil] nil: all partitions of the cluster
      # @param type [:preferred, :unclean]
      # @return [Hash{String=>Array<Integer>}] the partitions whose leader changed
      # @raise [KafkaError] `:preferred_leader_not_available`, `:unknown_topic_or_part`, `:cluster_authorization_failed` (needs
      #   ALTER of the cluster), …; its `failures` are by topic and partition
      def elect_leaders(topics = nil, type: :preferred)
        @topics.elect(topics, type)
      end

      # Plans a higher replication factor. Nothing is changed: the plan names the steps.
      #
      # @param topic [String]
      # @param replication_factor [Integer]
      # @param brokers [Hash{Integer=>Array<Integer>}, nil] ids of brokers by partition; nil: what is there stays, and the brokers
      #   with the fewest replicas of the topic get the rest
      # @return [ReplicationPlan]
      # @raise [InvalidRequestError] not higher than now, more than there are brokers, unknown brokers, …; all of it
      # @raise [KafkaError] `:unknown_topic_or_part`
      def plan_topic_replication(topic:, replication_factor:, brokers: nil)
        Replication.planner(topic_info(topic), cluster_info).raise_to(replication_factor, brokers)
      end

      # Plans an even distribution of a topic's leaders and replicas over all brokers, with as many replicas as now.
      #
      # @param topic [String]
      # @return [ReplicationPlan]
      # @raise [KafkaError] `:unknown_topic_or_part`
      def plan_topic_rebalance(topic:)
        Replication.planner(topic_info(topic), cluster_info).rebalance
      end

      # Reads settings of topics, with those that the brokers have for all topics. An embedded broker can't answer.
      #
      # @param names [Array<String>]
      # @return [Hash{String=>Hash{String=>String, nil}}] by topic and setting (`"retention.ms"`); nil for secret values
      # @raise [KafkaError] `:unknown_topic_or_part`, `:topic_authorization_failed` (needs DESCRIBE_CONFIGS)
      def topic_configs(names)
        @configs.of_topics(names)
      end

      # Reads all settings of topics, brokers or groups. An embedded broker can't answer.
      #
      # @param resources [Array<Configs::Resource>]
      # @return [Array<Configs::Resource>] with their `configs`, in the same order
      # @raise [InvalidRequestError] a resource given twice, or none
      # @raise [KafkaError] `:unknown_topic_or_part`, `:topic_authorization_failed` (needs DESCRIBE_CONFIGS); its `failures` are
      #   by resource
      def describe_configs(*resources)
        @configs.describe(resources.flatten)
      end

      # Changes settings; those not named stay as they are. Each resource's changes are made together, or none of them.
      #
      # @param resources [Array<Configs::Resource>] with their operations
      # @param validate_only [Boolean] let the brokers check the changes without making them
      # @return [Array<Configs::Resource>] the same
      # @raise [InvalidRequestError] all that is wrong with the operations, before anything is sent
      # @raise [KafkaError] `:invalid_config`, `:topic_authorization_failed` (needs ALTER_CONFIGS), …; its `failures` are by
      #   resource, and the others are changed
      def alter_configs(*resources, validate_only: false)
        @configs.alter(resources.flatten, validate_only: validate_only)
      end

      # Deletes the records before an offset. They can't be had back.
      #
      # @param topics [Hash{String=>Object, Hash{Integer=>Object}}] as for {GroupCommands#seek_consumer_group}: an offset, a Time,
      #   or `:latest` for all records, for a topic or for each partition
      # @return [Hash{String=>Hash{Integer=>Integer}}] by topic and partition, the first offset that is left
      # @raise [InvalidRequestError] an offset outside of its log, …; all of them
      # @raise [KafkaError] `:policy_violation`: the topic is compacted; `:topic_authorization_failed` (needs DELETE)
      def delete_records(topics)
        @records.delete(topics)
      end

      # Reads records of a partition: the last ones, or those from an offset or a time on, at most to the end that it has now.
      # Records that compaction removed and markers of transactions don't count. {Iterator} reads more than one partition.
      #
      # @param name [String]
      # @param partition [Integer]
      # @param count [Integer] at most this many
      # @param start_offset [Integer, Time] -1: the last ones
      # @param settings [Hash] librdkafka's properties for this call (`"isolation.level": "read_uncommitted"`)
      # @return [Array<Message>] by offset; empty when the offset or time is after the end
      # @raise [KafkaError] `:unknown_topic_or_part`, `:unknown_partition`
      # @raise [ArgumentError] count or start_offset can't be used
      def read_topic(name, partition, count, start_offset = -1, settings = {})
        @reader.read(name, partition, count, start_offset, settings)
      end

      # @return [Hash] `cluster_id`, `controller_id`, `brokers` (each `id`, `host`, `port`), `topics`
      def cluster_info
        @topics.cluster
      end
    end
  end
end
