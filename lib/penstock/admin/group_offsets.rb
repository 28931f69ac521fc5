# frozen_string_literal: true

require_relative "../on_demand"
require_relative "arguments"
require_relative "failures"
require_relative "occupied"
Penstock.load_constant :InvalidRequestError

module Penstock
  class Admin
    # Changes the committed offsets of groups without members: brokers refuse it while a group has any. Stateless; runs on the
    # caller's thread.
    class GroupOffsets
      # @param session [Session]
      # @param groups [Groups]
      # @param targets [OffsetTargets]
      def initialize(session, groups, targets)
        @session = session
        @groups = groups
        @targets = targets
      end

      # @param rows [Array<Hash>] as {Groups#committed} returns them
      def write(group, rows)
        settle(:alter_group_offsets, Arguments.name("group", group), Arguments.commits(rows))
      end

      # @param topics [Hash{String => Array<Integer>}]
      def delete(group, topics)
        pairs = Arguments.some_partitions(topics)
        settle(:delete_group_offsets, Arguments.name("group", group), pairs.to_h { |pair| [pair, pair] })
      end

      # The text that a commit carries belongs to its offset, so the new one has none: what was done beyond it is forgotten.
      def seek(group, targets)
        group = Arguments.name("group", group)
        found = @targets.resolve(targets)
        write(group, found.map { |(topic, partition), offset| {topic: topic, partition: partition, offset: offset} })
      end

      # @return [Boolean] false: the group has no commits
      def copy(from, to, topics)
        from, to = names(from, to)
        rows = commits(from, topics)
        write(to, rows)
        !rows.empty?
      end

      # @return [Boolean] false: the group has no commits
      def rename(from, to, topics, delete_previous:)
        from, to = names(from, to)
        raise Native.error_for(Native.error_number(:non_empty_group), "group #{from}", Occupied::TEXT) if members?(from)

        refuse_losses(from, topics) if delete_previous
        return false unless copy(from, to, topics)

        @groups.delete([from]) if delete_previous
        true
      end

      private

      def settle(name, group, wanted)
        errors = @session.settle(name, wanted, before: [group]) do |topic, partition, _offset, number|
          [[topic, partition], number, "group #{group}, #{topic}/#{partition}", Occupied.message(number)]
        end
        Failures.raise_any(errors)
      rescue KafkaError => error
        raise error if error.is_a?(PartialFailure)

        raise Native.error_for(error.number, "group #{group}", Occupied.message(error.number) || error.broker_message)
      end

      # @return [(String, String)]
      def names(from, to)
        names = Arguments.names("group", [from, to])
        return names if names.size == 2

        raise InvalidRequestError, [Problem.new("group #{names.first}", "would be copied to itself")]
      end

      # Of a topic that doesn't exist any more nothing can be consumed, and its offsets can't be committed.
      # @return [Array<Hash>] offsets that a transaction is about to change are waited for
      def commits(group, topics)
        known = @session.partitions
        chosen = topics && Arguments.names("topic", topics)
        @groups.committed(group, nil, stable: true).select do |row|
          row[:offset] && (chosen.nil? || chosen.include?(row[:topic])) && known[row[:topic]]&.include?(row[:partition])
        end
      end

      def refuse_losses(group, topics)
        lost = topics ? committed_topics(group) - Arguments.names("topic", topics) : []
        return if lost.empty?

        raise InvalidRequestError, [Problem.new("topics",
          "leave out #{lost.join(", ")}, whose offsets would be deleted with #{group}",
          "Name them too, or use delete_previous: false.")]
      end

      def committed_topics(group) = @groups.committed(group, nil, stable: true).map { |row| row[:topic] }.uniq

      def members?(group)
        @groups.info(group)[:members].any?
      rescue KafkaError => error
        raise unless error.code == :group_id_not_found

        false
      end
    end
  end
end
