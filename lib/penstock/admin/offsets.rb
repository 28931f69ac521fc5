# frozen_string_literal: true

require_relative "../native/admin"
require_relative "../native/kafka_error"
require_relative "failures"

module Penstock
  class Admin
    # Commands about offsets in partitions, one batched request each. Stateless; runs on the caller's thread.
    class Offsets
      SPECS = {
        earliest: Native::Admin::EARLIEST, latest: Native::Admin::LATEST, max_timestamp: Native::Admin::MAX_TIMESTAMP
      }.freeze
      UNKNOWN = Native.error_number(:unknown_topic_or_part)
      private_constant :SPECS, :UNKNOWN

      # @param session [Session]
      def initialize(session)
        @session = session
      end

      # @param topics [Hash{String=>Array<Integer>}]
      def watermarks(topics)
        pairs = topics.flat_map { |topic, partitions| partitions.map { |partition| [topic, partition] } }
        low, high = %i[earliest latest].map { |spec| ends(pairs, spec) }
        topics.to_h do |topic, partitions|
          [topic, partitions.to_h { |partition| [partition, [low, high].map { |found| found.fetch([topic, partition]) }] }]
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
        errors = @session.settle(:list_offsets, pairs.to_h { |pair| [pair, [*pair, SPECS.fetch(spec)]] }) do |row|
          topic, partition, offset, *, number = row
          found[[topic, partition]] = offset
          [[topic, partition], (number == UNKNOWN) ? 0 : number, "#{topic}/#{partition}", nil]
        end
        Failures.raise_any(errors)
        found.reject { |_pair, offset| offset.negative? }
      end

      def read(topics, committed:)
        wanted = topics.flat_map do |topic, partitions|
          partitions.map { |one| [topic, one.fetch(:partition), spec(one.fetch(:offset))] }
        end
        rows(wanted, committed: committed).map do |topic, partition, offset, timestamp, epoch|
          {topic: topic, partition: partition, offset: offset, timestamp: timestamp, leader_epoch: epoch}
        end
      end

      def for_times(topics)
        wanted = topics.flat_map { |topic, times| times.map { |partition, time| [[topic, partition], time] } }.to_h
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
        @session.call(:list_offsets, wanted, extra: [committed]) do |found|
          found.each do |topic, partition, *, number|
            raise Native.error_for(number, "#{topic}/#{partition}") unless number.zero?
          end
        end
      end

      def spec(value)
        case value
        when Symbol then SPECS.fetch(value) { raise ArgumentError, "offset #{value.inspect}: #{SPECS.keys.inspect} or a time" }
        when Time then (value.to_r * 1000).to_i
        else Integer(value)
        end
      end
    end
  end
end
