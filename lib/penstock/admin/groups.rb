# frozen_string_literal: true

require_relative "../native/envelope"
require_relative "../native/kafka_error"

module Penstock
  class Admin
    # Commands about consumer groups: their commits, lags and members. Only reads; never joins a group. Stateless; runs on the
    # caller's thread.
    class Groups
      # The broker's offset for "nothing was committed".
      NONE = -1001
      private_constant :NONE

      # @param session [Session]
      # @param offsets [Offsets]
      def initialize(session, offsets)
        @session = session
        @offsets = offsets
      end

      # @param topics [Hash{String=>Array<Integer>}, nil]
      def committed(group, topics)
        pairs = topics&.flat_map { |topic, partitions| partitions.map { |partition| [topic, partition] } }
        rows(group, pairs).map do |topic, partition, offset, metadata, epoch|
          {topic: topic, partition: partition, offset: (offset == NONE) ? nil : offset, metadata: metadata, leader_epoch: epoch}
        end
      end

      # One topic that doesn't exist (yet) must not hide the lag of the others.
      def lags(groups)
        known = @session.partitions
        groups.to_h { |group, topics| [group, lags_of(group, topics, known)] }
      end

      # Partitions without a commit are included if their topic was requested: they begin at what `auto.offset.reset`
      # specifies.
      def lag(group, topics)
        measured(group, rows(group, topics && partitions_of(topics))).sort_by { |row| row.values_at(:topic, :partition) }
      end

      def list
        @session.call(:list_groups).map { |group, state, type| {group: group, state: state, type: type} }
      end

      def info(group)
        row = @session.call(:describe_groups, [group]) do |(first)|
          _name, number, message = first
          raise Native.error_for(number, group, message) unless number.zero?

          first
        end
        name, _number, _message, state, type, assignor, coordinator, members = row
        {
          group: name, state: state, type: type, assignor: assignor, coordinator: coordinator,
          members: members.map { |member| %i[id client_id host instance_id partitions].zip(member).to_h }
        }
      end

      private

      def rows(group, pairs)
        found = @session.call(:committed_offsets, group, pairs).each do |topic, partition, *, number|
          raise Native.error_for(number, "group #{group}, #{topic}/#{partition}") unless number.zero?
        end
        (pairs || found.any?) ? found : rows_of_all_topics(group)
      end

      # The embedded broker doesn't list a group's commits: it only knows those of the partitions that it is asked for.
      def rows_of_all_topics(group)
        pairs = @session.partitions.flat_map { |topic, partitions| partitions.map { |partition| [topic, partition] } }
        pairs.empty? ? [] : rows(group, pairs).reject { |_topic, _partition, offset| offset == NONE }
      end

      def partitions_of(topics)
        topics.flat_map do |topic|
          found = @session.topic(topic)

          found[:partitions].keys.sort.map { |partition| [topic, partition] }
        end
      end

      def measured(group, rows)
        return [] if rows.empty?

        ends = @offsets.ends(rows.map { |topic, partition| [topic, partition] }, :latest)
        rows.map do |topic, partition, offset, metadata|
          committed = (offset == NONE) ? nil : offset
          last = ends.fetch([topic, partition])
          lag = committed && [last - committed, 0].max
          {group: group, topic: topic, partition: partition, committed: committed, end: last, lag: lag,
           incomplete: lag && (lag - completed(topic, committed, last, metadata))}
        end
      end

      # By key, records are done while a lower one isn't: the commit's metadata lists them.
      # @return [Integer] how many records are complete beyond the committed offset
      def completed(topic, committed, last, metadata)
        Native::Envelope.decode(metadata, base: committed, topic: topic).completed
          .sum { |from, to| [[to, last].min - [from, committed].max, 0].max }
      end

      # @param known [Hash{String=>Array<Integer>}] the partitions that exist
      def lags_of(group, topics, known)
        wanted = topics&.flat_map { |topic| known.fetch(topic.to_s, [0]).map { |partition| [topic.to_s, partition] } }
        present, missing = (wanted || rows(group, nil)).partition { |topic, partition| known[topic]&.include?(partition) }
        present = rows(group, present) if wanted && present.any?
        rows = measured(group, present) + missing.map { |topic, partition| {topic: topic, partition: partition} }
        rows.sort_by { |row| row.values_at(:topic, :partition) }.group_by { |row| row[:topic] }
          .transform_values { |same| same.to_h { |row| [row[:partition], offset_and_lag(row)] } }
      end

      def offset_and_lag(row)
        {offset: row[:committed] || -1, lag: row[:lag] || -1}
      end
    end
  end
end
