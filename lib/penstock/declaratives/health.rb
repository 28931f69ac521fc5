# frozen_string_literal: true

require_relative "consequences"

module Penstock
  module Declaratives
    # Looks for topics whose settings, or whose present state, risk records. Stateless, pure.
    module Health
      # `level` is :red (records can be lost, or are refused) or :yellow.
      Finding = Struct.new(:name, :level, :text, :advice, keyword_init: true)

      class << self
        # @param state [ClusterState]
        # @return [Array<Finding>] red ones first, then by topic
        def of(state)
          found = state.topics.values.flat_map do |topic|
            [offline(topic), lagging(topic), one_copy(topic), too_few_in_sync(topic), too_many_in_sync(topic),
              unclean(topic)].compact
          end
          found.sort_by { |finding| [(finding.level == :red) ? 0 : 1, finding.name] }
        end

        private

        def offline(topic)
          return if topic.offline.zero?

          red(topic, "#{partitions(topic.offline)} no leader: nothing can be read or written there",
            "Start the brokers that have the replicas; kafka-topics.sh --describe --unavailable-partitions lists them")
        end

        def lagging(topic)
          return if topic.under_replicated.zero?

          red(topic, "#{partitions(topic.under_replicated)} replicas that are not in sync",
            "Find the broker that is down or slow; one more failure may stop producers or lose records")
        end

        def one_copy(topic)
          return if topic.replication_factor > 1

          red(topic, "replication factor 1: a broker that dies takes its records with it",
            "Admin.plan_topic_replication makes a plan for kafka-reassign-partitions.sh")
        end

        def too_few_in_sync(topic)
          return if topic.replication_factor == 1 || needed(topic) != 1

          yellow(topic, "min.insync.replicas 1: acknowledged records may be on one broker only",
            "Set min.insync.replicas to 2, with replication factor 3")
        end

        def too_many_in_sync(topic)
          factor = topic.replication_factor
          return if needed(topic) < [factor, 2].max

          red(topic, Consequences.too_many_in_sync(needed(topic), factor),
            "Set min.insync.replicas to #{[factor - 1, 1].max}, or add a replica")
        end

        def unclean(topic)
          return unless topic.value("unclean.leader.election.enable") == "true"

          yellow(topic, "unclean.leader.election.enable: a replica that lags may become leader, and records are lost",
            "Set it to false")
        end

        # @return [Integer] 0 if it isn't known
        def needed(topic) = topic.value("min.insync.replicas").to_i

        def partitions(count) = (count == 1) ? "1 partition has" : "#{count} partitions have"
        def red(topic, text, advice) = Finding.new(name: topic.name, level: :red, text: text, advice: advice)
        def yellow(topic, text, advice) = Finding.new(name: topic.name, level: :yellow, text: text, advice: advice)
      end
    end
  end
end
