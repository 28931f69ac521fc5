# frozen_string_literal: true

require_relative "../native/envelope"
require_relative "../native/kafka_error"
require_relative "acl"
require_relative "arguments"
require_relative "failures"
require_relative "occupied"

module Penstock
  class Admin
    # Commands about consumer groups: their commits, lags and members, and their deletion. Never joins a group. Stateless; runs
    # on the caller's thread.
    class Groups
      # The broker's offset for "nothing was committed".
      NONE = -1001
      UNSTABLE = Native.error_number(:unstable_offset_commit)
      private_constant :NONE, :UNSTABLE

      # @param session [Session]
      # @param offsets [Offsets]
      def initialize(session, offsets)
        @session = session
        @offsets = offsets
      end

      # @param topics [Hash{String=>Array<Integer>}, nil]
      # @param stable [Boolean] wait for transactions that have an offset. It is also what makes a broker that became coordinator
      #   wait until it knows that its replicas have the last commit: without it, Kafka answers with the commits before, or none.
      #   That takes up to half a second. In rare cases the broker never notices (Kafka 4.3.1, 2 of some 600 moves): until the
      #   next commit of any group in the same partition it answers plain requests with the old state, and stable ones not at all
      def committed(group, topics, stable: false)
        pairs = topics && Arguments.partitions(topics)
        rows(Arguments.name("group", group), pairs, stable: stable).map do |topic, partition, offset, metadata, epoch|
          {topic: topic, partition: partition, offset: (offset == NONE) ? nil : offset, metadata: metadata, leader_epoch: epoch}
        end
      end

      # One topic that doesn't exist (yet) must not hide the lag of the others.
      def lags(groups)
        groups, known = Arguments.groups(groups), @session.partitions
        wanted = groups.transform_values do |topics|
          topics&.flat_map { |topic| known.fetch(topic, [0]).map { |partition| [topic, partition] } }
        end
        measured_lags(wanted, known)
      end

      # Partitions without a commit are included if their topic was requested: they begin at what `auto.offset.reset`
      # specifies.
      def lag(group, topics, stable: false)
        found = lag_of_each({group => topics}, stable: stable).values.first
        raise found if found.is_a?(KafkaError)

        found
      end

      # @param groups [Hash{String => Array<String>, nil}]
      # @return [Hash{String => Array<Hash>, KafkaError}]
      def lag_of_each(groups, stable: false)
        groups = Arguments.groups(groups)
        partitions = groups.values.all?(&:nil?) ? {} : partitions_of(groups.values.compact.flatten.uniq)
        wanted = groups.transform_values { |topics| topics&.flat_map { |topic| partitions.fetch(topic) } }
        measured(commits_of(wanted, stable: stable)).transform_values do |rows|
          rows.is_a?(KafkaError) ? rows : rows.sort_by { |row| row.values_at(:topic, :partition) }
        end
      end

      def list
        @session.call(:list_groups).map { |group, state, type| {group: group, state: state, type: type} }
      end

      def info(group, authorized_operations: false)
        found = infos([group], authorized_operations: authorized_operations).values.first
        raise found if found.is_a?(KafkaError)

        found
      end

      # @param groups [Array<String>]
      # @return [Hash{String => Hash, KafkaError}]
      def infos(groups, authorized_operations: false)
        groups = Arguments.names("group", groups)
        found = {}
        extra = authorized_operations ? [true] : []
        errors = @session.settle(:describe_groups, groups.to_h { |group| [group, group] }, extra: extra) do |row|
          group, number, message, *rest = row
          found[group] = rest
          [group, number, "group #{group}", message]
        end
        groups.to_h { |group| [group, errors[group] || info_of(group, found.fetch(group), authorized_operations)] }
      end

      # @param groups [Array<String>]
      def delete(groups)
        groups = Arguments.names("group", groups)
        errors = @session.settle(:delete_groups, groups.to_h { |group| [group, group] }) do |group, number, message|
          [group, number, "group #{group}", Occupied.message(number) || message]
        end
        Failures.raise_any(errors)
      end

      private

      def info_of(group, row, with_operations)
        state, type, assignor, coordinator, members, operations = row
        {
          group: group, state: state, type: type, assignor: assignor, coordinator: coordinator,
          members: members.map { |member| %i[id client_id host instance_id partitions].zip(member).to_h },
          **(with_operations ? {authorized_operations: operations.map { |one| Acl::OPERATIONS.key(one) || :unknown }} : {})
        }
      end

      def rows(group, pairs, stable: false)
        found = commits_of({group => pairs}, stable: stable).fetch(group)
        raise found if found.is_a?(KafkaError)

        found
      end

      # @param wanted [Hash{String => Array<(String, Integer)>, nil}] nil: all of the group
      # @return [Hash{String => Array, KafkaError}] rows of {Native::Admin#committed_offsets}
      def commits_of(wanted, stable: false)
        found = settled(wanted.reject { |_group, pairs| pairs&.empty? }, stable)
        silent = wanted.select { |group, pairs| pairs.nil? && found[group] == [] }
        found.merge!(settled_of_all_topics(silent.keys, stable)) if silent.any? && @session.embedded?
        wanted.to_h { |group, _pairs| [group, found.fetch(group, [])] }
      end

      # Of a group with many transactions there may be an open one at any time. So only partitions that were unstable are asked
      # for again.
      def settled(wanted, stable)
        found = wanted.transform_values { {} }
        items = wanted.to_h { |group, pairs| [group, [group, pairs]] }
        errors = @session.settle(:groups_offsets, items, extra: [stable]) do |row|
          group, number, message, rows = row
          failed, read = rows.partition { |*, error| !error.zero? }
          read.each { |one| found[group][one.first(2)] = one }
          next [group, number, "group #{group}", message] if failed.empty?

          items[group][1] = failed.map { |one| one.first(2) }
          topic, partition, *, error = failed.find { |*, one| one != UNSTABLE } || failed.first
          [group, error, "group #{group}, #{topic}/#{partition}", nil]
        end
        found.transform_values(&:values).merge(errors.compact)
      end

      # The embedded broker doesn't list a group's commits: it only knows those of the partitions that it is asked for.
      def settled_of_all_topics(groups, stable)
        pairs = @session.partitions.flat_map { |topic, partitions| partitions.map { |partition| [topic, partition] } }
        return {} if pairs.empty?

        settled(groups.to_h { |group| [group, pairs] }, stable).transform_values do |rows|
          rows.is_a?(KafkaError) ? rows : rows.reject { |_topic, _partition, offset| offset == NONE }
        end
      end

      # @return [Hash{String => Array<(String, Integer)>}]
      def partitions_of(topics)
        @session.topics(topics).to_h do |topic, found|
          [topic, found[:partitions].keys.sort.map { |partition| [topic, partition] }]
        end
      end

      # @param commits [Hash{String => Array, KafkaError}]
      # @return [Hash{String => Array<Hash>, KafkaError}]
      def measured(commits)
        rows = commits.values.grep(Array).flatten(1)
        ends = @offsets.known_ends(rows.map { |topic, partition| [topic, partition] }.uniq, :latest)
        commits.to_h do |group, found|
          [group, found.is_a?(KafkaError) ? found : found.map { |row| measured_row(group, row, ends[row.first(2)]) }]
        end
      end

      def measured_row(group, row, last)
        topic, partition, offset, metadata = row
        committed = (offset == NONE) ? nil : offset
        lag = committed && last && [last - committed, 0].max
        {group: group, topic: topic, partition: partition, committed: committed, end: last, lag: lag,
         incomplete: lag && (lag - completed(topic, committed, last, metadata))}
      end

      # By key, records are done while a lower one isn't: the commit's metadata lists them.
      # @return [Integer] how many records are complete beyond the committed offset
      def completed(topic, committed, last, metadata)
        Native::Envelope.decode(metadata, base: committed, topic: topic).completed
          .sum { |from, to| [[to, last].min - [from, committed].max, 0].max }
      end

      # @param wanted [Hash{String => Array<(String, Integer)>, nil}]
      # @param known [Hash{String=>Array<Integer>}] the partitions that exist
      def measured_lags(wanted, known)
        exists = ->((topic, partition)) { known[topic]&.include?(partition) }
        commits = commits_of(wanted.transform_values { |pairs| pairs&.select(&exists) })
        rows = measured(commits.transform_values { |found| found.is_a?(Array) ? found.select(&exists) : raise(found) })
        wanted.to_h do |group, pairs|
          missing = (pairs || commits.fetch(group)).reject(&exists)
          [group, by_partition(rows.fetch(group) + missing.map { |topic, partition| {topic: topic, partition: partition} })]
        end
      end

      def by_partition(rows)
        rows.sort_by { |row| row.values_at(:topic, :partition) }.group_by { |row| row[:topic] }
          .transform_values { |same| same.to_h { |row| [row[:partition], offset_and_lag(row)] } }
      end

      def offset_and_lag(row)
        {offset: row[:committed] || -1, lag: row[:lag] || -1}
      end
    end
  end
end
