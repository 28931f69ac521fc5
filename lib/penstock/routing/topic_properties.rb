# frozen_string_literal: true

require_relative "../nearest"

module Penstock
  module Routing
    # Kafka's topic properties, to detect typing errors only: brokers of other versions have other properties.
    # Stateless.
    module TopicProperties
      # Additional keywords of `config`.
      OPTIONS = %w[active partitions protect replication_factor].freeze

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

      # A broker's properties, each with the name of the topic's property for which it is the default. Those that aren't listed
      # have the topic's name after `log.`.
      BROKER = {
        "log.cleaner.delete.retention.ms" => "delete.retention.ms",
        "log.cleaner.max.compaction.lag.ms" => "max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio" => "min.cleanable.dirty.ratio",
        "log.cleaner.min.compaction.lag.ms" => "min.compaction.lag.ms", "log.flush.interval.messages" => "flush.messages",
        "log.flush.interval.ms" => "flush.ms", "log.index.size.max.bytes" => "segment.index.bytes",
        "log.retention.hours" => "retention.ms", "log.retention.minutes" => "retention.ms", "log.roll.hours" => "segment.ms",
        "log.roll.jitter.hours" => "segment.jitter.ms", "log.roll.jitter.ms" => "segment.jitter.ms",
        "log.roll.ms" => "segment.ms",
        "log.segment.delete.delay.ms" => "file.delete.delay.ms", "message.max.bytes" => "max.message.bytes",
        "default.replication.factor" => "replication_factor", "num.partitions" => "partitions"
      }.freeze
      private_constant :BROKER

      class << self
        # @param details [Hash{Symbol, String => Object}]
        # @return [Array<(String, String)>] messages and hints about names that look like others
        def complaints(details)
          (details.keys.map(&:to_s) - NAMES).filter_map do |name|
            own = of_broker(name)
            next ["config: #{name} is a broker's property, not a topic's", "Use #{own}"] if own

            hint = Nearest.hint(name, OPTIONS + NAMES)
            hint ||= "Topic properties contain dots" unless name.include?(".")
            ["config has no option #{name}, and Kafka has no such topic property", hint] if hint
          end
        end

        private

        # @return [String, nil] the name of the topic's property for which the broker has the default
        def of_broker(name)
          bare = name.delete_prefix("log.")
          BROKER[name] || (bare if bare != name && NAMES.include?(bare))
        end
      end
    end
  end
end
