# frozen_string_literal: true

require_relative "../nearest"

module Penstock
  module Routing
    # Kafka's topic properties, to detect typing errors only: brokers of other versions have other properties.
    # Stateless.
    module TopicProperties
      # Additional keywords of `config`.
      OPTIONS = %w[active partitions replication_factor].freeze

      NAMES = %w[
        cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level delete.retention.ms
        file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas index.interval.bytes
        leader.replication.throttled.replicas local.retention.bytes local.retention.ms max.compaction.lag.ms max.message.bytes
        message.downconversion.enable message.format.version message.timestamp.after.max.ms message.timestamp.before.max.ms
        message.timestamp.difference.max.ms message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms
        min.insync.replicas preallocate remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable
        retention.bytes retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
        unclean.leader.election.enable
      ].freeze

      class << self
        # @param details [Hash{Symbol, String => Object}]
        # @return [Array<(String, String)>] messages and hints about names that look like others
        def complaints(details)
          (details.keys.map(&:to_s) - NAMES).filter_map do |name|
            hint = Nearest.hint(name, OPTIONS + NAMES)
            hint ||= "Topic properties contain dots" unless name.include?(".")
            ["config has no option #{name}, and Kafka has no such topic property", hint] if hint
          end
        end
      end
    end
  end
end
