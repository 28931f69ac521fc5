# frozen_string_literal: true

require_relative "../native/admin"

module Penstock
  class Admin
    # Commands about offsets in partitions, one batched request each. Stateless; runs on the caller's thread.
    class Offsets
      SPECS = {
        earliest: Native::Admin::EARLIEST, latest: Native::Admin::LATEST, max_timestamp: Native::Admin::MAX_TIMESTAMP
      }.freeze
      private_constant :SPECS

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

      def read(topics, committed:)
        wanted = topics.flat_map do |topic, partitions|
          partitions.map { |one| [topic, one.fetch(:partition), spec(one.fetch(:offset))] }
        end
        rows(wanted, committed: committed).map do |topic, partition, offset, timestamp, epoch|
          {topic: topic, partition: partition, offset: offset, timestamp: timestamp, leader_epoch: epoch}
        end
      end

      def for_times(topics)
        wanted = topics.flat_map { |topic, times| times.map { |partition, time| [topic, partition, spec(time)] } }
        rows(wanted).group_by(&:first).transform_values do |found|
          found.to_h { |_topic, partition, offset| [partition, offset] }
        end
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
