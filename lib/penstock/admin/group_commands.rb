# frozen_string_literal: true

require_relative "arguments"

module Penstock
  class Admin
    # Commands about consumer groups, of {Admin} and its class.
    module GroupCommands
      # @param group [String]
      # @param topics [Hash{String=>Array<Integer>}, nil] with braces or without; nil: everything that the group has committed
      # @param stable [Boolean] wait for transactions that have an offset, and read what was committed last. Otherwise, after the
      #   group's coordinator moved to another broker, the last commit may be missing until the next one
      # @return [Array<Hash>] `topic`, `partition`, `offset` (nil: none), `metadata` (binary), `leader_epoch`
      # @raise [KafkaError] `:unstable_offset_commit`: with `stable`, a transaction lasts longer than the command may wait
      def read_committed_offsets(group, topics = nil, stable: false, **bare)
        @groups.committed(group, bare.empty? ? topics : bare.merge(topics.to_h), stable: stable)
      end

      # @param groups [Hash{String=>Array<String>, nil}, Array<String>] consumer groups and their topics; nil, or an Array of
      #   groups: the topics with commits
      # @return [Hash{String=>Hash{String=>Hash{Integer=>Hash}}}] group, topic, partition, then `offset` and `lag`, both -1
      #   where nothing was committed, and for what doesn't exist: of a missing topic, its partition 0
      def read_lags_with_offsets(groups)
        @groups.lags(groups)
      end

      # Returns a group's lag, one row per partition.
      #
      # @param group [String]
      # @param topics [Array<String>, nil] nil: the topics with commits
      # @param stable [Boolean] as for {#read_committed_offsets}
      # @return [Array<Hash>] `group`, `topic`, `partition`, `committed` (nil: none), `end`, `lag` (nil: unknown), and
      #   `incomplete`: the lag without the records that Penstock completed beyond the committed offset, as its last commit lists
      #   them
      def group_lag(group, topics = nil, stable: false)
        @groups.lag(group, topics, stable: stable)
      end

      # @return [Array<Hash>] `group`, `state`, `type`
      def groups
        @groups.list
      end

      # @param authorized_operations [Boolean] also what this connection may do with the group
      # @return [Hash] `group`, `state`, `type`, `assignor`, `coordinator`, `members` (each `id`, `client_id`, `host`,
      #   `instance_id`, `partitions`), and, on request, `authorized_operations` (`:read`, …)
      def group_info(group, authorized_operations: false)
        @groups.info(group, authorized_operations: authorized_operations)
      end

      # The lags of many groups, with one request for each group's commits, all at the same time, and one for the ends.
      #
      # @param groups [Array<String>, Hash{String=>Array<String>, nil}] with a Hash, only these topics of each
      # @return [Hash{String=>Array<Hash>, KafkaError}] the rows of {#group_lag}, or why a group has none
      def group_lags(groups)
        @groups.lag_of_each(groups.is_a?(Hash) ? groups : Array(groups))
      end

      # @param groups [Array<String>]
      # @return [Hash{String=>Hash, KafkaError}] what {#group_info} returns, or why a group has none
      def group_infos(groups)
        @groups.infos(groups)
      end

      # Commits offsets for a group without members, with the text that each commit carries. See {#seek_consumer_group} for
      # offsets by time or by name.
      #
      # @param group [String]
      # @param rows [Array<Hash>] as {#read_committed_offsets} returns them: `topic`, `partition`, `offset`, and, if there are
      #   any, `metadata` and `leader_epoch`
      # @return [void]
      # @raise [KafkaError] `:unknown_member_id`: the group has members; `:unknown_topic_or_part`, `:group_authorization_failed`;
      #   its `failures` are by topic and partition
      def write_committed_offsets(group, rows)
        @group_offsets.write(group, rows)
      end

      # Deletes committed offsets of a group that doesn't consume these topics now.
      #
      # @param group [String]
      # @param topics [Hash{String=>Array<Integer>}]
      # @return [void]
      # @raise [KafkaError] `:group_subscribed_to_topic`, `:group_id_not_found`, …
      def delete_committed_offsets(group, topics)
        @group_offsets.delete(group, topics)
      end

      # Sets where a group without members continues. The list of what was done beyond the old offset, in its last commit, is
      # dropped.
      #
      # @param group [String] need not exist
      # @param topics [Hash{String=>Object, Hash{Integer=>Object}}] for a topic, or for each partition: an offset, a Time (the
      #   first record at or after it, or the end), `:earliest`, `:latest`
      # @return [void]
      # @raise [InvalidRequestError] an offset outside of its log, a time that is none, …; all of them
      # @raise [KafkaError] `:unknown_member_id`: the group has members
      def seek_consumer_group(group, topics)
        @group_offsets.seek(group, topics)
      end

      # Copies the commits of a group, each with its text: it lists what was done beyond the offset, so the copy doesn't repeat
      # that. Offsets that the target already has are replaced; topics that don't exist any more are left out. A source that is
      # running continues: the copy has what it had committed at that moment.
      #
      # @param from [String]
      # @param to [String] a group without members, which need not exist
      # @param topics [Array<String>, nil] nil: all that `from` has commits of
      # @return [Boolean] false: there was nothing to copy
      # @raise [KafkaError] `:unknown_member_id`: the target has members; `:unstable_offset_commit`: a transaction that holds an
      #   offset lasted longer than the time limit
      def copy_consumer_group(from, to, topics = nil)
        @group_offsets.copy(from, to, topics)
      end

      # Copies the commits of a group without members to another name, then deletes the group.
      #
      # @param from [String]
      # @param to [String]
      # @param topics [Array<String>, nil] nil: all that it has commits of
      # @param delete_previous [Boolean] false: keep the group
      # @return [Boolean] false: there was nothing to copy, and nothing is deleted
      # @raise [InvalidRequestError] with `topics` that leave out some of the group, which would be lost
      # @raise [KafkaError] `:non_empty_group`: it has members; or see {#copy_consumer_group}
      def rename_consumer_group(from, to, topics = nil, delete_previous: true)
        @group_offsets.rename(from, to, topics, delete_previous: delete_previous)
      end

      # Makes a group rebalance, by joining it and leaving again: each member sees two rebalances. It gets nothing to consume
      # that it would commit.
      #
      # @param group [String]
      # @param topics [Array<String>] of which the group's members consume at least one
      # @param settings [Hash] librdkafka's properties of the member that joins. With `"group.protocol"` or
      #   `"partition.assignment.strategy"`, on which all members must agree, the group's own are not looked up
      # @return [void]
      # @raise [KafkaError] `:unknown_topic_or_part`: none of the topics exists; `:inconsistent_group_protocol`: the group has
      #   an assignor that librdkafka doesn't have; `:group_authorization_failed`, …
      # @raise [WaitTimeoutError] it couldn't join within the time limit
      def trigger_rebalance(group, topics, settings: {})
        group, topics = Arguments.name("group", group), Arguments.names("topic", topics)
        raise InvalidRequestError, [Problem.new("topics", "is empty: name one that the group consumes")] if topics.empty?

        own = settings.to_h { |name, value| [name.to_s, value.to_s] }
        RebalanceTrigger.new(@session, @groups, own).call(group, topics)
      end

      # Deletes groups without members, with their commits.
      #
      # @param groups [Array<String>]
      # @return [void]
      # @raise [KafkaError] `:non_empty_group`, `:group_id_not_found`, …; its `failures` are by group
      def delete_consumer_group(*groups)
        @groups.delete(groups.flatten)
      end
    end
  end
end
