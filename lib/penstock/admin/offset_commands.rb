# frozen_string_literal: true

module Penstock
  class Admin
    # Commands about the offsets of partitions, of {Admin} and its class.
    module OffsetCommands
      # Returns the first offset and the end offset of partitions.
      #
      # @overload read_watermark_offsets(name, partition)
      #   @return [(Integer, Integer)]
      # @overload read_watermark_offsets(topics)
      #   @param topics [Hash{String=>Array<Integer>}]
      #   @return [Hash{String=>Hash{Integer=>(Integer, Integer)}}]
      # @raise [KafkaError] `:unknown_topic_or_part`, `:unknown_partition`
      def read_watermark_offsets(name_or_topics, partition = nil)
        return @offsets.watermarks(name_or_topics) if name_or_topics.is_a?(Hash)

        @offsets.watermarks(name_or_topics => [partition]).fetch(name_or_topics).fetch(partition)
      end

      # @param topics [Hash{String=>Array<Hash>}] each `partition:` and `offset:` (`:earliest`, `:latest`, `:max_timestamp`,
      # a Time or milliseconds); each partition at most once
      # @param isolation_level [:read_committed, :read_uncommitted]
      # @return [Array<Hash>] `topic`, `partition`, `offset` (-1: none), `timestamp`, `leader_epoch`
      def read_partition_offsets(topics, isolation_level: :read_uncommitted)
        levels = %i[read_committed read_uncommitted]
        raise ArgumentError, "isolation_level: is one of #{levels.inspect}, not #{isolation_level.inspect}" unless
          levels.include?(isolation_level)

        @offsets.read(topics, committed: isolation_level == :read_committed)
      end

      # @param topics [Hash{String=>Hash{Integer=>Time, Integer}}] a time, or milliseconds, for each partition
      # @return [Hash{String=>Hash{Integer=>Integer}}] the first offset at or after it; -1 when there is none
      def offsets_for_times(topics)
        @offsets.for_times(topics)
      end
    end
  end
end
