# frozen_string_literal: true

require_relative "../native/admin"
require_relative "../native/kafka_error"
require_relative "../query_time"
require_relative "arguments"
require_relative "failures"

module Penstock
  class Admin
    # Commands about offsets in partitions, one batched request each. Stateless; runs on the caller's thread.
    class Offsets
      SPECS = {
        earliest: Native::Admin::EARLIEST, latest: Native::Admin::LATEST, max_timestamp: Native::Admin::MAX_TIMESTAMP
      }.freeze
      # Of what doesn't exist: the brokers' answer, and the client's own.
      UNKNOWN = %i[unknown_topic_or_part unknown_partition].map { |code| Native.error_number(code) }.freeze
      private_constant :SPECS, :UNKNOWN

      # @param session [Session]
      def initialize(session)
        @session = session
      end

      # @param topics [Hash{String=>Array<Integer>}]
      def watermarks(topics)
        pairs = Arguments.partitions(topics)
        low, high = %i[earliest latest].map { |spec| ends(pairs, spec) }
        topics.to_h do |topic, partitions|
          [topic, partitions.to_h { |partition| [partition, [low, high].map { |found| found.fetch([topic.to_s, partition]) }] }]
        end
      end

      # @param pairs [Array<(String, Integer)>] topic and partition
      # @param spec [:earliest, :latest]
      # @return [Hash{(String, Integer)=>Integer}]
      def ends(pairs, spec)
        rows(pairs.map { |topic, partition| [topic, partition, SPECS.fetch(spec)] })
          .to_h { |topic, partition, offset| [[topic, partition], offset] }
      end

      # The same without those that don't exist: an offset of a topic that was deleted remains for a while.
      def known_ends(pairs, spec)
        return {} if pairs.empty?

        found = {}
        wanted = pairs.to_h { |pair| [pair, [*pair, SPECS.fetch(spec)]] }
        errors = @session.settle(:list_offsets, wanted, explain: ->(error) { without_any_leader(error, pairs) }) do |row|
          topic, partition, offset, *, number = row
          found[[topic, partition]] = offset if number.zero?
          [[topic, partition], UNKNOWN.include?(number) ? 0 : number, "#{topic}/#{partition}", nil]
        end
        Failures.raise_any(errors)
        found.reject { |_pair, offset| offset.negative? }
      rescue KafkaError => error
        (error.code == :noent) ? {} : raise
      end

      def read(topics, committed:)
        Arguments.partitions(partitions_of(topics) { |rows| rows.map { |row| row.is_a?(Hash) ? row[:partition] : row } })
        wanted = topics.flat_map do |topic, partitions|
          partitions.map { |one| [topic.to_s, one.fetch(:partition), spec(one[:offset])] }
        end
        rows(wanted, committed: committed).map do |topic, partition, offset, timestamp, epoch|
          {topic: topic, partition: partition, offset: offset, timestamp: timestamp, leader_epoch: epoch}
        end
      end

      def for_times(topics)
        Arguments.partitions(partitions_of(topics) { |times| times.is_a?(Hash) ? times.keys : times })
        wanted = topics.flat_map { |topic, times| times.map { |partition, time| [[topic.to_s, partition], time] } }.to_h
        at(wanted).each_with_object(Hash.new { |all, topic| all[topic] = {} }) do |((topic, partition), offset), found|
          found[topic][partition] = offset
        end.tap { |found| found.default = nil }
      end

      # @param times [Hash{(String, Integer) => Time, Integer}] by topic and partition
      # @return [Hash{(String, Integer) => Integer}] the first offset at or after it; -1 when there is none
      def at(times)
        rows(times.map { |(topic, partition), time| [topic, partition, spec(time)] })
          .to_h { |topic, partition, offset| [[topic, partition], offset] }
      end

      private

      def rows(wanted, committed: false)
        @session.call(:list_offsets, wanted, extra: [committed], explain: ->(error) { explained(error, wanted) }) do |found|
          found.each do |topic, partition, *, number|
            raise Native.error_for(number, "#{topic}/#{partition}") unless number.zero?
          end
        end
      end

      # @return [KafkaError] that a partition which exists has no leader yet; the same error if none of them exists
      def without_any_leader(error, pairs)
        return error unless error.code == :noent

        known = @session.partitions
        existing = pairs.find { |topic, partition| known[topic]&.include?(partition) }
        existing ? without_leader(existing) : error
      end

      # If none of the partitions has a leader, librdkafka names none of them.
      # @return [KafkaError]
      def explained(error, wanted)
        return error unless error.code == :noent

        known = @session.partitions
        pairs = wanted.map { |row| row.first(2) }
        pair = pairs.find { |topic, partition| !known[topic]&.include?(partition) }
        return absent(*pair, known[pair.first]) if pair

        without_leader(pairs.first)
      end

      def without_leader(pair) = Native.error_for(Native.error_number(:leader_not_available), pair.join("/"))

      def absent(topic, partition, existing)
        place = "#{topic}/#{partition}"
        return Native.error_for(Native.error_number(:unknown_topic_or_part), place) unless existing

        count = (existing.size == 1) ? "1 partition, which is 0" : "#{existing.size} partitions, from 0 on"
        Native.error_for(Native.error_number(:unknown_partition), place, "#{topic} has #{count}")
      end

      # @return [Object] what it is, with only the partitions of each topic
      def partitions_of(topics)
        return topics unless topics.is_a?(Hash)

        topics.transform_values { |one| one.is_a?(Enumerable) ? yield(one) : one }
      end

      # Negative numbers aren't times: they stand for the first offset, the end, …
      def spec(value)
        return QueryTime.ms(value) if value.is_a?(Time)
        return value if Arguments.offset?(value)

        SPECS.fetch(value) do
          names = SPECS.keys.map(&:inspect).join(", ")
          raise InvalidRequestError, [Problem.new("offset #{value.inspect}", "is none of #{names}, a Time, or ms since 1970")]
        end
      end
    end
  end
end
